"""Other formats of recordings: VCR's YAML and JSON, HAR."""
