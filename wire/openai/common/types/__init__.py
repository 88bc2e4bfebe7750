"""REST structs of errors, models and embeddings."""
