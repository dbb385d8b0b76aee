import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, test } from 'node:test'

/**
 * Patterns of plain English that can be searched, in pages, comments, texts and names of tests. The glossary has the
 * terms (glossary.test.js).
 */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const OWN = 'test/unit/docs/english.test.js'
/** Results keep the words of their day. */
const LEFT_OUT = /^bench\/results\/|^client\/dist\/|package-lock\.json$/

/** @typedef {{ name: string, found: RegExp, files?: RegExp, not?: RegExp, examples: string[] }} Pattern */

/** @type {Pattern[]} not: text that is somebody else's name */
const PATTERNS = [
  {
    name: 'American spelling',
    found: /\b(?:(?:colou|behaviou|honou|favou|neighbou)r\w*|centre\w*|(?:initial|recogn|organ|synchron|normal|optim|serial|minim|maxim)is(?:e[sd]?|ing|ation)|cancelled|labelled|travelled|modelled|catalogue|licence|defence|grey|whilst|towards|learnt|analyse[sd]?)\b/gi,
    // events and properties of @grpc/grpc-js, an error of Redis
    not: /\bcall\.cancelled\b|'cancelled'|Cannot serialise/g,
    examples: ['the behaviour', 'recognised as duplicates', 'Grey lines', 'sent towards clients']
  },
  { name: '"they" for a user', found: /\b(?:he|his|him|himself)\b/gi, examples: ['a user keeps his documents'] },
  {
    name: 'the thing in place of "whoever" and "whom"', found: /\b(?:whoever|whom|that which|those who)\b/gi,
    not: /\(whoever does …\)|'whoever'/g,
    examples: ['Whoever asks', 'those who wait']
  },
  { name: 'timeout, as the field writes it', found: /\btime-outs?\b/gi, examples: ['after its time-out'] },
  {
    name: 'again in place of "anew"', found: /\banew\b/gi, not: /'anew'|-anew\.md/g, examples: ['begins anew']
  },
  {
    name: 'a noun in place of "who", unless it is a question', found: /(?:^|[.:] )Who [a-z][^?\n|]*\.(?= |$)/gm,
    examples: ['Who connects meanwhile waits.']
  },
  {
    name: 'a sentence of a page begins with its noun or verb', files: /\.md$/,
    found: /^(?:[-*] )?What (?!['"])[^?\n|:]*[.:](?= |$)|(?<=[.] )What [a-z][^?\n|:]*\./gm,
    examples: ['- What was missed comes first.', 'A page. What waits is sent.']
  },
  {
    name: 'a heading says its topic', files: /\.md$/, found: /^#{1,4} (?:What|Who|Whom|Whose|Why it|How it) [^?\n]*$/gm,
    examples: ['## What it guarantees', '### Who may publish']
  },
  {
    name: 'how long and how many, not "so long" and "so many"', found: /\bso (?:long|many)\b(?! that\b)/gi,
    examples: ['so long as it runs', 'after so many tries']
  },
  {
    name: 'own, not "of ours" and "of one\'s own"', found: /\bof (?:ours|theirs|one's own)\b/gi,
    not: /\bconst (?:guid|\[\w+, \{ \w+ \}\]|\w+) of (?:ours|theirs)\b/g, examples: ['a service of one\'s own', 'a name of ours']
  },
  {
    name: 'unavailable or offline, not "away"', found: /\b(?:is|are|was|were|be) away\b|\bcomes? live\b/gi,
    examples: ['Redis is away', 'a record that comes live']
  },
  {
    name: 'a verb that says how, not "is told"', found: /\b(?:is|are|was|were|be) (?:not )?told\b/gi,
    examples: ['the client is told', 'nobody was told']
  },
  {
    name: 'anyway, not "all the same"', found: /\ball the same\b|\b(?:is|are) welcome\b/gi,
    examples: ['it works all the same', 'you are welcome']
  }
]

const files = execFileSync('git', ['ls-files', '*.md', '*.js', '*.jsx', '*.html', '*.css', '*.proto', '*.yaml', '*.yml'], { cwd: ROOT })
  .toString().split('\n').filter((file) => file !== '' && file !== OWN && !LEFT_OUT.test(file))

/** @param {Pattern} pattern @param {string} text @returns {string[]} */
const matches = ({ found, not }, text) => (not === undefined ? text : text.replaceAll(not, '')).match(found) ?? []

describe('plain English', () => {
  assert.ok(files.length > 500, `${files.length} files`)
  for (const pattern of PATTERNS) {
    test(pattern.name, () => {
      for (const example of pattern.examples) assert.notDeepEqual(matches(pattern, example), [], example)
      const found = files.filter((file) => pattern.files?.test(file) ?? true)
        .flatMap((file) => matches(pattern, readFileSync(path.join(ROOT, file), 'utf8')).map((text) => `${file}: ${text}`))
      assert.deepEqual(found, [])
    })
  }
})
