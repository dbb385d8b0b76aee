import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { codeBlocks } from '../../helpers/code-blocks.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { onPath } from '../../services/install.js'

/** docs/how-to/publish-from-your-framework.md: its programs publish, as far as their languages are installed here. */

const blocks = codeBlocks().filter(({ file }) => file === 'docs/how-to/publish-from-your-framework.md')

/** @param {string} language @param {string} text @returns {string} the only block that has the text */
function block (language, text) {
  const found = blocks.filter((one) => one.language === language && one.code.includes(text))
  assert.equal(found.length, 1, `${found.length} blocks in ${language} with ${text}`)
  return found[0].code
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} files
 * @returns {string} a folder with them
 */
function folderOf (t, files) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

/** @param {string} command @returns {string | false} why not */
const without = (command) => onPath(command) ? false : `there is no ${command}`

/** @returns {string | false} why not */
function withoutDjango () {
  if (!onPath('python3')) return without('python3')
  try {
    execFileSync('python3', ['-c', 'import requests'], { stdio: 'ignore' })
    return false
  } catch {
    return 'Python has no requests'
  }
}

/**
 * The page's modules; in place of Django: settings, and a transaction that calls on_commit at its end.
 * @param {string} apiUrl
 * @returns {Record<string, string>}
 */
const djangoFiles = (apiUrl) => ({
  'inkcast.py': block('python', 'session.post('),
  'views.py': block('python', 'on_commit('),
  'django/__init__.py': '',
  'django/conf.py': `from types import SimpleNamespace\nsettings = SimpleNamespace(INKCAST_API="${apiUrl}", INKCAST_TOKEN="none")\n`,
  'django/db.py': [
    'from contextlib import contextmanager', 'from types import SimpleNamespace', 'waiting = []',
    '@contextmanager', 'def atomic():', '    yield', '    while waiting: waiting.pop()()',
    'transaction = SimpleNamespace(atomic=atomic, on_commit=waiting.append)', ''
  ].join('\n')
})

/**
 * An api that refuses the first try, in place of inkcast: the guid is its status (`lost`: no answer, `down`: each try
 * gets 503).
 * @param {import('node:test').TestContext} t
 */
async function startUnreliable (t) {
  const passing = ['409', '429', '500', '503', '504', 'lost']
  const final = ['400', '401', '403', '413', '415', '422']
  /** @type {Map<string, string[]>} keys of the tries, by guid */
  const tries = new Map()
  const api = createServer((request, response) => {
    const guid = String(request.url).split('/')[3]
    const keys = tries.get(guid) ?? []
    tries.set(guid, [...keys, String(request.headers['idempotency-key'])])
    if (guid === 'lost' && keys.length === 0) return void request.socket.destroy()
    const status = guid === 'down' ? 503 : keys.length === 0 ? Number(guid) : 202
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"ok":true}')
  })
  await new Promise((resolve) => { api.listen(0, '127.0.0.1', () => resolve(undefined)) })
  t.after(() => api.close().closeAllConnections())
  const { port } = /** @type {import('node:net').AddressInfo} */ (api.address())
  /** @param {unknown[]} results of publish_saved for each guid */
  const checkTries = (results) => {
    assert.deepEqual(results, [...passing.map(() => ({ ok: true })), ...final.map(() => null), null])
    assert.deepEqual(
      [...tries].map(([guid, keys]) => [guid, keys.length, new Set(keys).size]),
      [...passing.map((guid) => [guid, 2, 1]), ...final.map((guid) => [guid, 1, 1]), ['down', 3, 1]]
    )
  }
  return { port, guids: [...passing, ...final, 'down'], checkTries }
}

describe('publishing from frameworks', () => {
  test('Django: once per key, after the commit', { skip: withoutDjango() }, async (t) => {
    const { apiUrl } = await startEmbedded(t)
    const folder = folderOf(t, {
      ...djangoFiles(apiUrl),
      'run.py': [
        'from types import SimpleNamespace', 'from inkcast import publish', 'from views import rename',
        'rename(SimpleNamespace(id=3, board_id=7, title="", save=lambda: None), "new")',
        'print(publish("a/b", "edit", 1, key="same")["position"]["offset"], publish("a/b", "edit", 1, key="same")["position"]["offset"])',
        ''
      ].join('\n')
    })
    const { stdout } = await promisify(execFile)('python3', ['run.py'], { cwd: folder })
    assert.equal(stdout.trim(), '1 1')
    const { records } = await (await fetch(`${apiUrl}/v1/documents/board%2F7/history`)).json()
    assert.deepEqual(records.map((/** @type {any} */ { event, value }) => [event, value]), [['task', { id: 3, title: 'new' }]])
  })

  test('Django: a final error is tried once, an error that passes again with the same key', { skip: withoutDjango() }, async (t) => {
    const { port, guids, checkTries } = await startUnreliable(t)
    const folder = folderOf(t, {
      ...djangoFiles(`http://127.0.0.1:${port}`),
      'run.py': [
        'import json', 'import sys', 'import inkcast', 'inkcast.time.sleep = lambda _: None',
        'print(json.dumps([inkcast.publish_saved(guid, "edit", 1) for guid in sys.argv[1:]]))', ''
      ].join('\n')
    })
    const { stdout } = await promisify(execFile)('python3', ['run.py', ...guids], { cwd: folder })
    checkTries(JSON.parse(stdout))
  })

  test('Django: the relay of an outbox table keeps the order, and stops at no refused row', { skip: withoutDjango() }, () => {
    const [writing, relay] = codeBlocks()
      .filter(({ file, language }) => file === 'docs/how-to/outbox-table.md' && language === 'python')
      .map(({ code }) => code)
    execFileSync('python3', ['-c', 'import ast, sys; ast.parse(sys.argv[1])', writing])
    const stdout = execFileSync('python3', ['-c', [
      'import json, sys, types',
      'import requests',
      'rows, refused, published = [], [], []',
      'class Row:',
      '    def __init__(self, id): self.id, self.document, self.event, self.value = id, "board/7", "task", id',
      '    def delete(self): rows.remove(self)',
      'rows += [Row(1), Row(2), Row(3), Row(4)]',
      'fails = {2: [400], 3: [503, 401]}',
      'def publish(document, event, value, key):',
      '    published.append(key)',
      '    if fails.get(value):',
      '        response = requests.Response()',
      '        response.status_code = fails[value].pop(0)',
      '        response.raise_for_status()',
      'models = types.ModuleType("board.models")',
      'models.Outbox = types.SimpleNamespace(objects=types.SimpleNamespace(order_by=lambda _: rows))',
      'models.Refused = types.SimpleNamespace(objects=types.SimpleNamespace(create=lambda row, **_: refused.append(row)))',
      'inkcast = types.ModuleType("inkcast")',
      'inkcast.publish = publish',
      'inkcast.may_retry = lambda error: error.response.status_code == 503',
      'sys.modules.update({"board": types.ModuleType("board"), "board.models": models, "inkcast": inkcast})',
      'exec(sys.argv[1])',
      'print(json.dumps({"rounds": [relay_once() for _ in range(4)], "published": published, "refused": refused}))'
    ].join('\n'), relay], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
    assert.deepEqual(JSON.parse(stdout), {
      rounds: [false, false, true, false],
      published: [1, 2, 3, 3, 3, 4].map((id) => `outbox-${id}`),
      refused: [2]
    })
  })

  test('Django: the Kafka producer compiles', { skip: without('python3') }, () => {
    execFileSync('python3', ['-c', 'import ast, sys; ast.parse(sys.argv[1])', block('python', 'confluent_kafka')])
  })

  test('Rails: a record, and the reason of a refusal', { skip: without('ruby') }, async (t) => {
    const { apiUrl } = await startEmbedded(t)
    const folder = folderOf(t, {
      'inkcast.rb': block('ruby', 'module Inkcast'),
      'task.rb': block('ruby', 'after_commit {'),
      'run.rb': [
        'require_relative "inkcast"',
        'puts Inkcast.publish("a/b", "edit", { line: 1 })["position"]["offset"]',
        'begin; Inkcast.publish("a/b", "doc:edit", 1); rescue => error; puts error.message; end', ''
      ].join('\n')
    })
    const env = { ...process.env, INKCAST_API: apiUrl, INKCAST_TOKEN: 'none' }
    const { stdout } = await promisify(execFile)('ruby', ['-w', 'run.rb'], { cwd: folder, env })
    assert.match(stdout, /^1\n400 .*reserved_event/)
    execFileSync('ruby', ['-c', join(folder, 'task.rb')])
  })

  test('Rails: a final error is tried once, an error that passes again with the same key', { skip: without('ruby') }, async (t) => {
    const { port, guids, checkTries } = await startUnreliable(t)
    const folder = folderOf(t, {
      'inkcast.rb': block('ruby', 'module Inkcast'),
      'run.rb': [
        'require "logger"', 'module Rails; def self.logger = Logger.new($stderr); end',
        'require_relative "inkcast"', 'def Inkcast.sleep(_) = nil',
        'puts JSON.generate(ARGV.map { |guid| Inkcast.publish_saved(guid, "edit", 1) })', ''
      ].join('\n')
    })
    const env = { ...process.env, INKCAST_API: `http://127.0.0.1:${port}`, INKCAST_TOKEN: 'none' }
    const { stdout } = await promisify(execFile)('ruby', ['-w', 'run.rb', ...guids], { cwd: folder, env })
    checkTries(JSON.parse(stdout))
  })

  // test/nightly/go.test.js runs it: its first build compiles Go's library, which takes 35 s of CPU time
  test('Go: well formed', { skip: without('gofmt') }, (t) => {
    const folder = folderOf(t, { 'inkcast.go': block('go', 'package inkcast') })
    assert.equal(execFileSync('gofmt', ['-l', '-e', folder]).toString(), '')
  })

  // Spring itself is not here: its names are unknown to the compiler, which reads the syntax first
  test('Spring: the syntax is valid', { skip: without('javac') }, async (t) => {
    const sources = blocks.filter(({ language }) => language === 'java')
    assert.equal(sources.length, 2)
    const folder = folderOf(t, Object.fromEntries(sources.map(({ code }) => [`${/class (\w+)/.exec(code)?.[1]}.java`, code])))
    const { stderr } = await promisify(execFile)('sh', ['-c', `cd ${folder} && javac -d out *.java || true`])
    const errors = [...stderr.matchAll(/ error: (.*)/g)].map(([, error]) => error)
    assert.deepEqual(errors.filter((error) => !/^(?:package .* does not exist|cannot find symbol)$/.test(error)), [])
  })
})
