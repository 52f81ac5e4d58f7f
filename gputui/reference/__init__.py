"""What a healthy card of each model is: identity, limits, peaks, healthy bands, and how a measurement is graded.

Pure: reads nothing but the data in this package. Start with `lookup.find`; then `health.grade`, `peak.peak`,
`expected` for memory, power and links, `describe.describe` and `search.search` for people.
"""
