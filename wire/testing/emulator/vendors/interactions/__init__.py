"""Google's server of Interactions, with what it stores."""
