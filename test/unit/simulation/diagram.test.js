import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ticks } from '../../simulation/diagram/axis.js'
import { diagram } from '../../simulation/diagram/diagram.js'
import { lanesOf } from '../../simulation/diagram/lanes.js'
import { overview } from '../../simulation/diagram/overview.js'
import { page } from '../../simulation/diagram/page.js'
import { around, firstWindow, wholeOf } from '../../simulation/diagram/window.js'

/**
 * @typedef {import('../../simulation/world/trace.js').Story} Story
 * @typedef {import('../../simulation/world/trace.js').StoryEvent} StoryEvent
 */

const EVIL = '</script><script>alert("1 & 2")</script>\u0000\ud800'

/** @param {string} name @param {number} begin @param {number | null} [end] */
const life = (name, begin, end = null) => ({ name, machine: name.split('/')[0], begin, end })

/** @param {Partial<StoryEvent>[]} events @returns {Story} */
const storyOf = (...events) => ({
  processes: [life('page-10', 0), life('page-2', 0), life('m1/gateway-0', 0, 50), life('m1/gateway-0.2', 60), life('redis', 0)],
  events: /** @type {StoryEvent[]} */ (events), dropped: 0
})

/** @param {string} from @param {string} to @param {number} at @param {number | null} until @param {string} [text] */
const message = (from, to, at, until, text = 'a text') =>
  /** @type {const} */ ({ type: 'message', kind: 'bytes', bytes: 7, from, to, at, until, text })

/** @param {StoryEvent['type']} type @param {number} at @param {string | null} process @param {string} text */
const mark = (type, at, process, text) => /** @type {StoryEvent} */ ({ type, at, process, text })

/** @param {string} svg @param {RegExp} pattern */
const count = (svg, pattern) => svg.match(pattern)?.length ?? 0

describe('the diagram of a trace', () => {
  test('has a line for each process, clients above and stores below; a process that replaces another has its line', () => {
    const { processes } = storyOf()
    assert.deepEqual(lanesOf(processes).map(({ name }) => name), ['page-2', 'page-10', 'm1/gateway-0', 'redis'])
    assert.deepEqual(lanesOf([life('m1/api-0', 0, 20), life('m1/api-0.2', 10)]).length, 2)
  })

  test('has an arrow for each message of the window, and a cross for one that is lost', () => {
    const story = storyOf(
      message('page-2', 'm1/gateway-0', 1, 4), message('m1/gateway-0', 'redis', 10, 15), message('page-10', 'm1/gateway-0', 12, null),
      message('page-2', 'm1/gateway-0', 90, 99)
    )
    const svg = diagram(story, { from: 3, until: 20 })
    assert.equal(count(svg, /<line class="message /g), 3)
    assert.equal(count(svg, /class="message lost"/g), 1)
    assert.equal(count(diagram(story, { from: 5, until: 9 }), /<line class="message /g), 0)
    assert.equal(count(diagram(story, { from: 0, until: 100, hidden: new Set(['redis']) }), /<line class="message /g), 3)
    assert.equal(count(diagram(story, { from: 0, until: 100, shows: ({ at }) => at > 50 }), /<line class="message /g), 1)
  })

  test('marks faults and violations at the processes that they name', () => {
    const svg = diagram(storyOf(
      mark('fault', 5, null, '0: page-2 and m1/gateway-0 are apart'), mark('violation', 8, 'page-10', 'a record is missing')
    ), { from: 0, until: 10 })
    assert.equal(count(svg, /class="spot fault"/g), 2)
    assert.equal(count(svg, /class="spot violation"/g), 1)
    assert.match(svg, /page-2 and m1\/gateway-0 are apart<\/text>/)
    assert.match(svg, /a record is missing<\/text>/)
  })

  test('shows turns, starts, ends, log lines, and when a process is stopped', () => {
    const story = storyOf(
      mark('turn', 1, 'redis', 'timer'), mark('turn', 1, 'redis', 'bytes'), mark('start', 2, 'redis', 'starts'),
      mark('note', 3, 'redis', 'warn: no'), mark('pause', 4, 'page-2', 'is stopped'), mark('resume', 6, 'page-2', 'continues'),
      mark('end', 9, 'm1/gateway-0', 'killed')
    )
    const svg = diagram(story, { from: 0, until: 10 })
    for (const shape of ['turn', 'start', 'note', 'held', 'end killed']) assert.equal(
      count(svg, new RegExp(`class="${shape}"`, 'g')), 1, shape
    )
    assert.equal(count(diagram(story, { from: 7, until: 10 }), /class="held"/g), 0)
    assert.equal(count(diagram(story, { from: 4.5, until: 5 }), /class="held"/g), 1)
    assert.equal(count(diagram(story, { from: 0, until: 10, turns: false, notes: false }), /class="(?:turn|note)"/g), 0)
  })

  test('has no more elements than a browser can show, and says so', () => {
    const many = Array.from({ length: 50_000 }, (_, i) => message('page-2', 'm1/gateway-0', i / 1000, i / 1000 + 0.5))
    const svg = diagram(storyOf(...many), { from: 0, until: 50 })
    assert.ok(count(svg, /<line /g) < 3500)
    assert.match(svg, /of 50000 messages drawn/)
  })

  test('escapes what processes say', () => {
    const story = storyOf(message('page-2', 'm1/gateway-0', 1, 2, EVIL), mark('violation', 3, null, EVIL), mark('note', 1, 'redis', EVIL))
    const about = { seed: 1, scenario: EVIL, command: EVIL, violations: [EVIL], plan: [EVIL], hash: EVIL }
    const html = page(story, about)
    assert.equal(count(html, /<script\b/g), 2)
    assert.equal(count(html, /<\/script>/g), 2)
    const svg = diagram(story, { from: 0, until: 5 }) + overview(story, { from: 0, until: 5 })
    for (const text of ['<script', '\u0000', '\ud800']) assert.ok(!svg.includes(text), text)
    const data = /<script type="application\/json" id="story">(.*?)<\/script>/s.exec(html)?.[1] ?? ''
    assert.equal(JSON.parse(data).events[0].text, EVIL)
  })

  test('needs no network', () => {
    const html = page(
      storyOf(message('page-2', 'redis', 1, 2)), { seed: 1, scenario: 'default', command: '', violations: [], plan: [], hash: '' }
    )
    assert.doesNotMatch(html.replaceAll('http://www.w3.org/2000/svg', ''), /\b(?:src|href)=|https?:\/\//)
    assert.match(html, /default-src 'none'/)
  })

  test('begins with the time before the violation, else before the first fault, else with the beginning', () => {
    const messages = Array.from({ length: 1000 }, (_, i) => message('page-2', 'redis', i * 10, i * 10 + 1))
    const at = (/** @type {StoryEvent[]} */ ...marks) =>
      firstWindow(storyOf(...[...messages, ...marks].sort((a, b) => a.at - b.at)))
    const violated = at(mark('fault', 3005, null, ''), mark('violation', 8005, null, ''))
    assert.ok(violated.from < 7900 && violated.from > 6000 && violated.until > 8005, JSON.stringify(violated))
    assert.ok(at(mark('fault', 3005, null, '')).until < 3500)
    assert.equal(at().from, 0)
    assert.deepEqual(wholeOf(storyOf()), { from: 0, until: 1 })
    assert.equal(diagram(storyOf(), firstWindow(storyOf())).startsWith('<svg'), true)
  })

  test('a page of a long trace has the events around the violation', () => {
    const events = [...Array.from({ length: 900 }, (_, i) => mark('turn', i, 'redis', '')), mark('violation', 900, null, ''),
      ...Array.from({ length: 99 }, (_, i) => mark('turn', 901 + i, 'redis', ''))]
    const part = around(storyOf(...events), 300)
    assert.equal(part.events.length, 300)
    assert.equal(part.dropped, 700)
    assert.ok(part.events.some(({ type }) => type === 'violation'))
    assert.equal(around(storyOf(...events), 1000).events.length, 1000)
  })

  for (const [from, until, most, labels] of /** @type {[number, number, number, string[]][]} */ ([
    [0, 10_000, 5, ['0 s', '2 s', '4 s', '6 s', '8 s', '10 s']],
    [1234.5, 1236, 4, ['1.2345 s', '1.2350 s', '1.2355 s', '1.2360 s']],
    [0, 0.1, 2, ['0.00000 s', '0.00005 s', '0.00010 s']]
  ])) test(`times from ${from} to ${until} ms`, () => assert.deepEqual(ticks({ from, until }, most).map(({ label }) => label), labels))
})
