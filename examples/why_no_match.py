"""Why did a pattern not match? Declare it, feed it a few events, and read the trace.

.venv/bin/python examples/why_no_match.py
"""

import ppm
from ppm.cep.match import Event
from ppm.cep.trace import trace

SECOND = 1_000_000

visit = (
    ppm.pattern("visit", doc="The clinic, then the pharmacy, with no detour home.")
    .event("clinic", "place = 'clinic'")
    .event("home", "place = 'home'")
    .event("pharmacy", "place = 'pharmacy'")
    .begin("clinic")
    .not_followed_by("home")
    .followed_by("pharmacy")
    .within("2 h")
    .build()
)

places = ["clinic", "street", "home", "pharmacy"]
events = [Event(f"e{n}", n * 600 * SECOND, {"place": place}) for n, place in enumerate(places)]

print(ppm.to_yaml(visit))
print(trace(visit, events, zones={}, timezone="UTC"))
