import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequire } from 'node:module'
import { stripVTControlCharacters } from 'node:util'
import { paint, table } from '../../../src/cli/common/terminal.js'
import { printable, printableJson, printableLine } from '../../../src/common/printable.js'

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
  for (const character of UNPRINTABLE) {
    if (character === '\n' || character === '\t') continue
    for (const msg of [`a${character}b`, `a\\${character}b`, `${character}${character}`]) {
      const line = pretty(printableJson(`${JSON.stringify({ level: 30, msg, field: msg })}\n`))
      assert.ok(!line.includes(character), JSON.stringify(msg))
      assert.match(line, /\\u[\da-f]{4}/)
    }
  }
  assert.equal(JSON.parse(printableJson(JSON.stringify({ msg: 'a\nb\tc "\\u009b" \\\\ é' }))).msg, 'a\nb\tc "\\u009b" \\\\ é')
})
