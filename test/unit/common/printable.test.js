import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequire } from 'node:module'
import { stripVTControlCharacters } from 'node:util'
import { paint, table } from '../../../src/operate/cli/common/terminal.js'
import { printable, printableJson, printableLine } from '../../../src/base/common/printable.js'

const { prettyFactory } = createRequire(import.meta.url)('pino-pretty')

/** Every control, formatting, private, unassigned and lone surrogate code point of the first two planes. */
const UNPRINTABLE = Array.from({ length: 0x20000 }, (_, code) => String.fromCodePoint(code))
  .filter((character) => /[\p{C}\u2028\u2029]/u.test(character))

test('no control, bidi or other unprintable character reaches a terminal, and each can be read', () => {
  assert.ok(UNPRINTABLE.length > 10_000)
  for (const character of UNPRINTABLE) {
    const text = `a${character}b`
    const shown = printableLine(text)
    assert.match(shown, /^a(\\u[\da-f]{4}){1,2}b$/)
    assert.equal(JSON.parse(`"${shown}"`), text)
  }
  assert.equal(printable('Grüße 😀 漢字\n"x" \\u009b'), 'Grüße 😀 漢字\n"x" \\u009b')
})

test('painted text and tables are printable', () => {
  for (const character of UNPRINTABLE) {
    if (character === '\n') continue
    assert.ok(!stripVTControlCharacters(paint('cyan', `e${character}e`)).includes(character))
    assert.ok(!table([['NAME'], [`e${character}`]])[1].includes(character))
  }
})

test('lines of the development log are printable, whatever is logged', () => {
  const pretty = prettyFactory({ colorize: false, singleLine: true, ignore: 'level,time' })
  const characters = UNPRINTABLE.filter((character) => character !== '\n' && character !== '\t')
  const at = (/** @type {number} */ i) => characters.slice(i, i + 50)
  for (let i = 0; i < characters.length; i += 50) {
    for (const message of [
      (/** @type {string} */ character) => `a${character}b`, (/** @type {string} */ character) => `a\\${character}b`,
      (/** @type {string} */ character) => `${character}${character} `
    ]) {
      const msg = at(i).map(message).join('')
      const line = pretty(printableJson(`${JSON.stringify({ level: 30, msg, field: msg })}\n`))
      for (const character of at(i)) assert.ok(!line.includes(character), JSON.stringify(character))
      assert.ok(line.match(/\\u[\da-f]{4}/g).length >= 2 * at(i).length, JSON.stringify(msg))
    }
  }
  assert.equal(JSON.parse(printableJson(JSON.stringify({ msg: 'a\nb\tc "\\u009b" \\\\ é' }))).msg, 'a\nb\tc "\\u009b" \\\\ é')
})
