import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { parseRules } from '../../../src/documents/rules/file.js'
import { createFind } from '../../../src/documents/rules/find.js'
import { createDocumentRules, withoutRules } from '../../../src/documents/rules/rules.js'
import { createMetrics } from '../../../src/observe/metrics/metrics.js'
import { seededRandom } from '../../helpers/random.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { rulesFile } from '../../helpers/rules-file.js'
import { waitFor } from '../../helpers/wait.js'

const HISTORY = { size: 1000, bytes: 0, ttl: 600 }
const DEFAULTS = {
  history: { ...HISTORY, keys: true }, presence: true, signals: 'writers', echo: undefined, rate: undefined,
  uplink: true
}

/** @param {import('node:test').TestContext} t @param {object | string} content */
function setUp (t, content) {
  const { path, write } = rulesFile(t, content)
  const { log, lines } = recordingLog()
  const metrics = createMetrics({ processMetrics: false })
  const rules = createDocumentRules({ history: HISTORY, path, log, metrics, every: 20, clock: systemClock })
  t.after(() => rules.stop())
  return {
    rules, write, lines, path,
    wrong: async () => (await metrics.settings_file_wrong.get()).values.at(-1)?.value
  }
}

describe('the rule of a document', () => {
  test('is the one with the longest prefix of its guid', () => {
    const find = createFind(['', 'a', 'ab/', 'ab/c', 'b', 'ab/c/d'].map((prefix) => [prefix, prefix]), 'none')
    for (const [guid, expected] of [
      ['x', ''], ['a', 'a'], ['aa', 'a'], ['ab', 'a'], ['ab/', 'ab/'], ['ab/b', 'ab/'], ['ab/cc', 'ab/c'], ['ab/z', 'ab/'],
      ['ab/c/d', 'ab/c/d'], ['ab/c/e', 'ab/c'], ['ac', 'a'], ['bz', 'b'], ['c', ''], ['\u{1F600}', '']
    ]) assert.equal(find(guid), expected, guid)
    assert.equal(createFind([['a', 1]], 0)('b'), 0)
    assert.equal(createFind([], 0)('b'), 0)
  })

  test('is found as a comparison with each prefix finds it', () => {
    const random = seededRandom(7)
    const text = (/** @type {number} */ length) =>
      Array.from({ length }, () => 'ab/'[Math.floor(random() * 3)]).join('')
    for (let round = 0; round < 300; round++) {
      const count = 1 + Math.floor(random() * 30)
      const prefixes = new Set(Array.from({ length: count }, () => text(Math.floor(random() * 7))))
      const find = createFind([...prefixes].map((prefix) => [prefix, prefix]), null)
      for (let i = 0; i < 50; i++) {
        const guid = text(1 + Math.floor(random() * 9))
        const matching = [...prefixes].filter((prefix) => guid.startsWith(prefix))
        const [longest = null] = matching.sort((a, b) => b.length - a.length)
        assert.equal(find(guid), longest, `${guid} in ${[...prefixes]}`)
      }
    }
  })
})

describe('the file of rules', () => {
  test('has for each kind of document what it says, and the settings for the rest', async (t) => {
    const { rules } = setUp(t, {
      rules: [
        { prefix: 'slides/', history: { size: 5, keys: true }, presence: false, signals: 'everybody', echo: true },
        { prefix: 'slides/big/', history: { bytes: 100, ttl: 7, keys: false }, signals: 'nobody', rate: 2.5, webhook: false },
        { prefix: 'empty/' }
      ]
    })
    assert.deepEqual(rules.rulesOf('slides/1'), DEFAULTS, 'before the start')
    await rules.start()
    assert.deepEqual(rules.rulesOf('slides/1'), {
      ...DEFAULTS, history: { size: 5, bytes: 0, ttl: 600, keys: true }, presence: false, signals: 'everybody', echo: true
    })
    // a longer prefix inherits nothing from a shorter one
    assert.deepEqual(rules.rulesOf('slides/big/1'), {
      ...DEFAULTS, history: { size: 1000, bytes: 100, ttl: 7, keys: false }, signals: 'nobody', rate: 2.5, uplink: false
    })
    assert.deepEqual(rules.historyOf('slides/1').size, 5)
    for (const guid of ['other', 'empty/1', 'slides']) assert.deepEqual(rules.rulesOf(guid), DEFAULTS)
    assert.equal(rules.rulesOf('slides/1'), rules.rulesOf('slides/2'), 'nothing is created for a document')
    assert.deepEqual(withoutRules(HISTORY)('slides/1'), DEFAULTS)
  })

  for (const [what, content, problem] of /** @type {[string, unknown, RegExp][]} */ ([
    ['no JSON', '{ "rules": [', /not JSON/],
    ['no list', { rules: {} }, /^rules: /],
    ['an unknown field', { rules: [{ prefix: 'a', presense: true }] }, /^rule "a": .*presense/],
    ['an unknown field beside the rules', { rules: [], rule: [] }, /rule/],
    ['a rule without a prefix', { rules: [{ prefix: 'a' }, { presence: true }] }, /^rule number 2: prefix: is missing$/],
    ['a size of 0', { rules: [{ prefix: 'a', history: { size: 0 } }] }, /^rule "a": history\.size: must be at least 1$/],
    ['a time that is too long', { rules: [{ prefix: 'a', history: { ttl: 1e9 } }] }, /^rule "a": history\.ttl: /],
    ['an unknown sender', { rules: [{ prefix: 'a', signals: 'all' }] }, /^rule "a": signals: must be nobody, writers/],
    ['a rate of 0', { rules: [{ prefix: 'a', rate: 0 }] }, /^rule "a": rate: /],
    ['a prefix twice', { rules: [{ prefix: 'a' }, { prefix: 'b' }, { prefix: 'a' }] }, /^rule "a": it is there twice/],
    ['a long prefix', { rules: [{ prefix: 'ä'.repeat(129) }] }, /prefix: has more than 256 bytes/]
  ])) {
    test(`with ${what} is refused, and says why`, () => {
      const text = typeof content === 'string' ? content : JSON.stringify(content)
      assert.throws(() => parseRules(text), ({ message }) => problem.test(message) || assert.match(message, problem))
    })
  }

  test('fails the start if it is wrong or missing', async (t) => {
    const wrong = setUp(t, { rules: [{ prefix: 'a', rate: 'fast' }] })
    await assert.rejects(wrong.rules.start(), ({ message }) =>
      message.startsWith(`DOCUMENT_RULES_FILE=${wrong.path}: rule "a": rate: `))
    const missing = setUp(t, { rules: [] })
    rmSync(missing.path)
    await assert.rejects(missing.rules.start(), /DOCUMENT_RULES_FILE=.*ENOENT/)
  })

  test('is in force soon after it has changed; a wrong one changes nothing, says why once, and shows in a metric', async (t) => {
    const { rules, write, lines, wrong } = setUp(t, { rules: [{ prefix: 'a', rate: 1 }] })
    await rules.start()
    assert.deepEqual([rules.rulesOf('a').rate, await wrong()], [1, 0])
    write({ rules: [{ prefix: 'a', rate: 2 }] })
    await waitFor(() => rules.rulesOf('a').rate === 2)
    write({ rules: [{ prefix: 'a', rate: 3, echo: 'yes' }] })
    await waitFor(async () => await wrong() === 1)
    // several more looks at the same file
    await new Promise((resolve) => { setTimeout(resolve, 100) })
    assert.equal(rules.rulesOf('a').rate, 2)
    const problems = lines.filter(({ level }) => level === 'error')
    assert.equal(problems.length, 1)
    for (const part of ['DOCUMENT_RULES_FILE', 'echo']) assert.ok(JSON.stringify(problems[0]).includes(part), part)
    write({ rules: [] })
    await waitFor(() => rules.rulesOf('a').rate === undefined)
    assert.equal(await wrong(), 0)
  })
})

test('the example in the docs is a correct file', () => {
  const page = readFileSync(new URL('../../../docs/document-rules.md', import.meta.url), 'utf8')
  const rules = parseRules(/```json\n(.*?)```/s.exec(page)?.[1] ?? '')
  assert.deepEqual(rules.map(({ prefix }) => prefix), ['table/', 'table/archived/', 'show/', 'board/'])
})
