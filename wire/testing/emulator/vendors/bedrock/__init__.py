"""Amazon Bedrock: Converse, token counts, and embeddings by InvokeModel."""
