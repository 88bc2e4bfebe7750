"""What OpenAI's families of endpoints share: errors, models, embeddings."""
