/**
 * The areas of src as a table of their imports: a row imports, a column is imported. All of them stand below the
 * diagonal, because each area imports only those before it. Shades in place of numbers: not every import changes it.
 */
import { graphOfServer } from './counts/count.js'
import { AREAS, importsByArea } from './counts/imports.js'

const CELL = 44
const HEIGHT = 26
const LEFT = 110
const TOP = 92
/** Imports from which on a shade is used. */
const SHADES = [1, 10, 30]

/** @returns {string} SVG, for light and dark pages */
export function areasPicture () {
  const numbers = importsByArea(graphOfServer())
  const rows = AREAS.map((area, i) => {
    const y = TOP + i * HEIGHT
    const cells = AREAS.slice(0, i + 1).map((_, j) => {
      const number = numbers[i][j]
      const x = LEFT + j * CELL
      const box = `x="${x}" y="${y}" width="${CELL - 2}" height="${HEIGHT - 2}"`
      if (i === j) return `<rect class="own" ${box}/>`
      const shade = SHADES.filter((from) => number >= from).length
      return `<rect class="shade${shade}" ${box}/>`
    })
    return `<text class="name" x="${LEFT - 8}" y="${y + 16}" text-anchor="end">${area}</text>${cells.join('')}`
  })
  const heads = AREAS.map((area, j) =>
    `<text class="name" transform="translate(${LEFT + j * CELL + CELL / 2 + 4} ${TOP - 8}) rotate(-60)">${area}</text>`)
  const legend = SHADES.map((from, k) => {
    const [x, y] = [LEFT + 8.6 * CELL, TOP + (2 + k) * HEIGHT]
    const text = SHADES[k + 1] === undefined ? `${from} imports or more` : `${from} to ${SHADES[k + 1] - 1} imports`
    return `<rect class="shade${k + 1}" x="${x}" y="${y}" width="${CELL - 2}" height="${HEIGHT - 2}"/><text x="${x + CELL + 6}" ` +
      `y="${y + 16}">${text}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + AREAS.length * CELL + 50} ${TOP + AREAS.length * HEIGHT + 8}" \
role="img" aria-label="Imports between the areas of src: each area imports only areas above it">
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f } .name { font-weight: 600 }
.own { fill: #8c959f } .shade0 { fill: #8c959f; fill-opacity: 0.1 }
.shade1, .shade2, .shade3 { fill: #2f81f7 } .shade1 { fill-opacity: 0.25 } .shade2 { fill-opacity: 0.5 } .shade3 { fill-opacity: 0.8 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
</style>
${heads.join('\n')}
${rows.join('\n')}
${legend.join('\n')}
</svg>
`
}
