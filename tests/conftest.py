from hypothesis import settings

# A busy machine must not turn a slow example into a failure.
settings.register_profile("dekker", deadline=None)
settings.load_profile("dekker")
