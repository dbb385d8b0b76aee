#!/usr/bin/env node
/**
 * Draws the queue of a slow connection with its thresholds, for docs/protocol-details.md. Figures come from the
 * defaults of the
 * settings.
 *
 *   node scripts/queue-picture.js
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../src/config/load.js'
import { SLOW_TIMEOUT } from '../src/documents/delivery/backlogs.js'

export const FILE = fileURLToPath(new URL('../docs/images/queue.svg', import.meta.url))
const WIDTH = 820
const LEFT = 20
const BAR = WIDTH - 2 * LEFT

/** @param {number} bytes */
const size = (bytes) => bytes >= 2 ** 20 ? `${bytes / 2 ** 20} MB` : `${bytes / 1024} KB`

/** @returns {string} SVG, for light and dark pages */
export function queuePicture () {
  const { maxWaitingBytes: limit } = loadConfig({ env: {} }).limits
  const seconds = SLOW_TIMEOUT / 1000
  // widths are not to scale: each step has room for its text
  const steps = [
    { share: 0.22, name: 'live', from: '0', lines: ['everything is', 'delivered at once'] },
    { share: 0.26, name: 'reduced', from: '64 KB', lines: ['no ephemeral records;', 'newest signals only'] },
    {
      share: 0.32, name: 'behind', from: `MAX_WAITING_BYTES (${size(limit)})`,
      lines: ['live delivery stops; when the client reads', 'again, it continues from the log', `after ${seconds} s: closed, 1013`]
    },
    {
      share: 0.2, name: 'closed', from: `twice (${size(2 * limit)})`,
      lines: ['messages that no log', 'has fill the queue:', 'closed with 1013']
    }
  ]
  let x = LEFT
  const parts = steps.map(({ share, name, from, lines }, i) => {
    const width = share * BAR
    const part = [
      `<rect class="step${i}" x="${x.toFixed(1)}" y="46" width="${width.toFixed(1)}" height="44"/>`,
      `<text class="name" x="${(x + width / 2).toFixed(1)}" y="73" text-anchor="middle">${name}</text>`,
      `<path class="mark" d="M${x.toFixed(1)} 34V96"/>`,
      `<text x="${(x + 5).toFixed(1)}" y="36">${from}</text>`,
      ...lines.map((line, row) => `<text class="note" x="${(x + 5).toFixed(1)}" y="${112 + row * 17}">${line}</text>`)
    ]
    x += width
    return part.join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} 164" role="img" \
aria-label="Queue of one connection: live up to 64 KB, reduced up to MAX_WAITING_BYTES, then behind, closed at twice that">
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f } .name { font-weight: 600; fill: #111 } .title { font-weight: 600 } .note { \
font-size: 11.5px }
.mark { stroke: #57606a; stroke-dasharray: 3 3; fill: none }
.step0 { fill: #b7e4c7 } .step1 { fill: #fff3b0 } .step2 { fill: #ffd6a5 } .step3 { fill: #ffadad }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .name { fill: #111 } .mark { stroke: #9da7b3 } }
</style>
<text x="${LEFT}" y="14" class="title">bytes queued for one connection →</text>
${parts.join('\n')}
</svg>
`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(FILE, queuePicture())
