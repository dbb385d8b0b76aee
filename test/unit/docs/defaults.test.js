import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pages } from '../../helpers/code-blocks.js'
import { SETTINGS } from '../../helpers/settings.js'

/** A default that a page mentions beside its setting, as in `HISTORY_SIZE` (1,000), is the one in the code. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Units of the text, in those of settings: seconds or ms, bytes. */
const FACTORS = /** @type {Record<string, number[]>} */ ({
  '': [1], s: [1, 1000], ms: [1], minutes: [60, 60_000], hour: [3600], KB: [1024], MB: [2 ** 20], '%': [1]
})
const defaults = new Map(
  [...SETTINGS].flatMap(([name, { default: value = '' }]) => /^\d+$/.test(value) ? [[name, Number(value)]] : [])
)

test('defaults beside the names of settings are those of the code', () => {
  let checked = 0
  /** @type {string[]} */
  const wrong = []
  for (const page of pages().filter((name) => /^(?:docs\/(?!decisions)|README)/.test(name))) {
    for (const [text, name, number, unit = ''] of readFileSync(ROOT + page, 'utf8')
      .matchAll(/`([A-Z]+(?:_[A-Z]+)+)` \((\d[\d,]*)(?: (s|ms|minutes|hour|KB|MB|%))?\)/g)) {
      const value = defaults.get(name)
      if (value === undefined) continue
      checked++
      if (!FACTORS[unit].some((factor) => Number(number.replaceAll(',',
        '')) * factor === value)) wrong.push(`${page}: ${text}, default ${value}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(checked > 15, `${checked} defaults found`)
})
