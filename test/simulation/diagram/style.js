/** Looks of a diagram, in a light and a dark page; part of each SVG, which so needs nothing else. */
export const STYLE = `<style>
svg.story { --ink: #1c2330; --soft: #69758a; --line: #c3cad6; --grid: #eaedf2; --paper: #fff; --client: #1667c4; --store: #8451b5;
  --inner: #5a6b7d; --fault: #c45a00; --bad: #d11a2a; --note: #8a7a1f; font: 12px system-ui, sans-serif; background: var(--paper) }
@media (prefers-color-scheme: dark) { svg.story { --ink: #e4e8ef; --soft: #97a3b6; --line: #475163; --grid: #262d38; --paper: #171b21;
  --client: #6cb0ff; --store: #c79cf0; --inner: #a3b1c2; --fault: #ffa14d; --bad: #ff6b76; --note: #d8c65a } }
.story text { fill: var(--ink) } .story .time, .story .more { fill: var(--soft); font-size: 11px }
.story .grid { stroke: var(--grid) } .story .life { stroke: var(--line); stroke-width: 2 } .story .tier { stroke: var(--grid); \
stroke-width: 8 }
.story .held { stroke: var(--fault); stroke-width: 6; stroke-dasharray: 2 3; opacity: .6 }
.story .turn { stroke: var(--soft); stroke-width: 1 }
.story .message { fill: none; stroke-width: 1.2 } .story .client { stroke: var(--client) } .story .store { stroke: var(--store) }
.story .inner { stroke: var(--inner) } .story .open { stroke-dasharray: 5 3 } .story .lost { stroke: var(--bad); stroke-dasharray: 3 3 }
.story .head { stroke: none } .story .head.client { fill: var(--client) } .story .head.store { fill: var(--store) } .story .head.inner { \
fill: var(--inner) }
.story .cross { stroke: var(--bad); stroke-width: 1.6; fill: none }
.story .said { font-size: 10.5px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; fill: var(--soft) }
.story .fault { stroke: var(--fault); stroke-width: 1.5; stroke-dasharray: 6 3 } .story .spot.fault { fill: var(--fault); stroke: \
var(--paper) }
.story .words { font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round }
.story .words.fault { fill: var(--fault); stroke-dasharray: none } .story .words.violation { fill: var(--bad) }
.story .violation { stroke: var(--bad); stroke-width: 2 } .story .words.violation { stroke: var(--paper); stroke-width: 4px }
.story .words.fault { stroke: var(--paper); stroke-width: 4px } .story .spot.violation { fill: none; stroke: var(--bad); stroke-width: 2.5 }
.story .note { fill: var(--note) } .story .start { fill: var(--inner) } .story .end { stroke: var(--ink); stroke-width: 2; fill: none }
.story .killed { stroke: var(--bad) }
.story [data-event] { cursor: pointer } .story .chosen { stroke-width: 3.5 }
</style>`
