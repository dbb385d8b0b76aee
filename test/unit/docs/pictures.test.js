import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { FILE, queuePicture } from '../../../scripts/queue-picture.js'

test('the picture of a slow connection\'s queue has the defaults of the settings (node scripts/queue-picture.js)', () => {
  assert.equal(readFileSync(FILE, 'utf8'), queuePicture())
})
