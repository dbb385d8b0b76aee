import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { ReplyError } from 'ioredis'
import { toInkcastError } from '../../../src/redis/errors.js'

const FOLDER = new URL('../../../src/redis/scripts/', import.meta.url)

/** Every error that a script answers with, as it begins. */
const errors = readdirSync(FOLDER, { recursive: true }).map(String).filter((file) => file.endsWith('.lua')).flatMap((file) =>
  [...readFileSync(new URL(file, FOLDER), 'utf8').matchAll(/error_reply\('([^']*)'/g)].map(([, text]) => ({ file, text })))

test('an error of a script has a code and a space, without which Redis puts ERR in front', () => {
  assert.ok(errors.length > 2)
  for (const { file, text } of errors) assert.match(text, /^[A-Z]+ /, file)
})

test('an error of a script is one after which a client tries again', () => {
  for (const { file, text } of errors)
    assert.equal(toInkcastError(new ReplyError(`${text}x`)).code, 'unavailable', `${file}: ${text}`)
})
