/** The stylesheet of the panel, in its shadow root: the page's rules do not reach it. */
export const STYLES = `
:host {
  all: initial;
  --back: #fff; --raised: #f2f4f7; --line: #d0d5dd; --text: #1d2433; --faint: #5b6475;
  --accent: #1f5fd0; --good: #13713f; --busy: #8a5200; --bad: #b3261e;
  color-scheme: light;
}
@media (prefers-color-scheme: dark) {
  :host {
    --back: #14181f; --raised: #1e242e; --line: #39424f; --text: #e6e9ef; --faint: #a3adbd;
    --accent: #86b1ff; --good: #6fd3a0; --busy: #f0b75e; --bad: #ff9a92;
    color-scheme: dark;
  }
}
* { box-sizing: border-box; }
.panel {
  position: fixed; z-index: 2147483000; display: flex; flex-direction: column; overflow: hidden;
  background: var(--back); color: var(--text); border: 1px solid var(--line); border-radius: 8px;
  box-shadow: 0 8px 28px rgb(0 0 0 / 25%); font: 12px/1.45 system-ui, sans-serif;
}
header {
  display: flex; align-items: center; gap: 8px; padding: 4px 6px; background: var(--raised);
  border-bottom: 1px solid var(--line); touch-action: none; user-select: none; cursor: move;
}
header strong { white-space: nowrap; }
.summary { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
button, input { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 4px; }
button { padding: 2px 8px; min-height: 24px; cursor: pointer; }
button:hover { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
.resizer, .mover { padding: 0; width: 24px; height: 24px; flex: none; touch-action: none; }
.resizer { cursor: nwse-resize; }
.mover { cursor: move; }
.tabs { display: flex; gap: 2px; padding: 4px 6px 0; border-bottom: 1px solid var(--line); }
.tabs button { border-bottom: 0; border-radius: 4px 4px 0 0; background: none; color: var(--faint); }
.tabs button[aria-selected=true] { background: var(--raised); color: var(--text); font-weight: 600; }
.body { flex: 1; min-height: 0; overflow: auto; overflow-wrap: anywhere; }
.body > div { padding: 8px; }
h3 { margin: 8px 0 2px; font: inherit; font-weight: 600; color: var(--faint); }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: 2px 12px; margin: 0; }
.fields div { display: flex; gap: 6px; min-width: 0; }
dt { flex: none; width: 74px; color: var(--faint); }
dd { margin: 0; min-width: 0; font-variant-numeric: tabular-nums; }
.document { border: 1px solid var(--line); border-radius: 6px; margin-bottom: 8px; padding: 4px 8px 6px; }
summary { cursor: pointer; padding: 2px 0 4px; }
.guid { font-weight: 600; }
ul, ol { margin: 0; padding: 0; list-style: none; }
.rows li { display: grid; grid-template-columns: 84px minmax(80px, auto) 1fr; gap: 8px; padding: 2px 0; border-top: 1px solid var(--line); }
.rows b { font-weight: 600; }
.rows i { font-style: normal; color: var(--accent); }
time { color: var(--faint); font-variant-numeric: tabular-nums; }
[data-list=Waits] li, [data-warns] { color: var(--busy); font-weight: 600; }
[data-state=connected], [data-state=live] { color: var(--good); }
[data-state=refused], [data-state=closed] { color: var(--bad); }
[data-state=connecting], [data-state=reconnecting], [data-state=draining],
[data-state=joining], [data-state=loading], [data-state=idle] { color: var(--busy); }
.actions, .filter { display: flex; gap: 8px; align-items: center; margin: 8px 0; }
.filter { margin-top: 0; }
.filter input { flex: 1; min-width: 0; padding: 2px 6px; min-height: 24px; }
.found, .empty { color: var(--faint); }
[hidden] { display: none !important; }
@media (max-width: 520px) {
  .panel { left: 0 !important; width: 100% !important; border-radius: 8px 8px 0 0; }
  .rows li { grid-template-columns: 84px 1fr; }
  .rows li > :nth-child(3) { grid-column: 1 / -1; }
  .rows li > :nth-child(3):empty { display: none; }
}
`
