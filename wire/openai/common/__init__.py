"""The parts that all families of OpenAI's endpoints share: errors, models, embeddings."""
