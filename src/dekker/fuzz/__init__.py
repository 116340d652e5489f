"""Random programs on all engines that apply, which must agree; what they disagree about is made small and kept.

Every program is determined by a kind and a number, so that what was found can be found again.
"""
