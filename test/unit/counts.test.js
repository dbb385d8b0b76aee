import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { changes, committed, count } from '../../scripts/counts/count.js'

describe('the counts of the project', () => {
  test('are the committed ones, so that each growth is a line that somebody wrote', () => {
    assert.deepEqual(changes(committed(), count()), [])
  })

  test('that grow or shrink are reported, with the command that writes them', () => {
    const now = count()
    for (const name of /** @type {(keyof typeof now)[]} */ (Object.keys(now))) {
      const [grown, ...others] = changes({ ...now, [name]: now[name] - 1 }, now)
      assert.deepEqual(others, [])
      assert.match(grown, new RegExp(`^${name} grew from .* deliberately with \`npm run counts -- --write\`$`))
      const [shrunk] = changes({ ...now, [name]: now[name] + 1 }, now)
      assert.match(shrunk, new RegExp(`^${name} went from .* with \`npm run counts -- --write\`$`))
    }
  })
})
