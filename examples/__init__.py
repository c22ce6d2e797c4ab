"""Examples of the service guide: a service, and how to watch a model."""
