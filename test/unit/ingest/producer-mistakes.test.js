import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InkcastError } from '../../../src/base/common/errors.js'
import { ProducerMistakes } from '../../../src/ingest/producer-mistakes.js'
import { HEADER } from '../../../src/wire/headers.js'
import { manualClock } from '../../helpers/manual-clock.js'
import { recordingLog } from '../../helpers/recording-log.js'

const PLACE = { topic: 'documents.downlink', partition: 0, offset: '7' }

function setUp () {
  const { log, lines } = recordingLog()
  const clock = manualClock()
  return { mistakes: new ProducerMistakes({ log, clock }), lines, clock }
}

test('refused records are a line for each reason, once a minute', () => {
  const { mistakes, lines, clock } = setUp()
  for (let i = 0; i < 5; i++) {
    mistakes.refused(new InkcastError('bad_header', 'x-keep must be true or false'), PLACE)
    mistakes.refused(new InkcastError('bad_value', 'the value is empty'), PLACE)
  }
  assert.equal(lines.length, 2)
  assert.match(
    lines[0].text, /"reason":"bad_header".*"offset":"7".* x-keep must be true or false: the record goes to the dead-letter topic/
  )
  clock.advance(60_000)
  mistakes.refused(new InkcastError('bad_value', 'the value is empty'), PLACE)
  assert.equal(lines.length, 3)
})

test('a header within two letters of one that inkcast reads is a warning, once for each name', () => {
  const { mistakes, lines } = setUp()
  let cases = 0
  for (const known of Object.values(HEADER).filter((name) => /^x-.{4}/.test(name))) {
    for (let at = 2; at < known.length; at++) {
      const names = [`${known.slice(0, at)}${known.slice(at + 1)}`, `${known.slice(0, at)}q${known.slice(at)}`]
      for (const name of names) {
        if (name.length < 6 || Object.values(HEADER).includes(/** @type {any} */ (name))) continue
        const before = lines.length
        for (let i = 0; i < 3; i++) mistakes.look({ [name]: '1' }, PLACE)
        assert.ok(lines.length <= before + 1)
        assert.ok(lines.some(({ text }) => text.includes(`"header":"${name}"`)), name)
        cases++
      }
    }
  }
  assert.ok(cases > 150, `${cases}`)
})

test('headers that inkcast reads, and those of others, are no mistakes; the number of names that are remembered is bounded', () => {
  const { mistakes, lines } = setUp()
  mistakes.look(Object.fromEntries(Object.values(HEADER).map((name) => [name, '1'])), PLACE)
  mistakes.look({ 'content-encoding': 'x', 'x-forwarded-for': '1', 'x-amzn-trace': '1', __TypeId__: 'java.lang.String' }, PLACE)
  mistakes.look(undefined, PLACE)
  for (let i = 0; i < 2000; i++) mistakes.look({ [`x-other-${i}`]: '1' }, PLACE)
  mistakes.look({ 'x-operatr': 'broadcast' }, PLACE)
  assert.deepEqual(lines, [])
})
