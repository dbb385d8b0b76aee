import js from '@eslint/js'
import stylistic from '@stylistic/eslint-plugin'
import globals from 'globals'
import { MODULE_STATE, moduleState } from './scripts/lint/module-state.js'

// Durations, deadlines and pauses are measured with `clock.monotonic()` (src/base/common/clock.js). These files need
// the time of day, because it leaves the process or is compared with a time of another machine.
export const WALL_CLOCK = {
  'src/operate/admin/figures/samples.js': 'time of a sample, which the status page shows',
  'src/services/api/operations/run.js': 'timestamp of a publication',
  'src/services/api/grpc/publish-stream.js': 'timestamp of a publication',
  'src/services/api/callers/caller.js': '`exp` of tokens',
  'src/services/api/callers/callers.js': '`exp` and `nbf` of tokens',
  'src/watch/inspect/inspector.js': 'time of an event, which other machines show',
  'src/observe/tracing/stages.js': 'age of a record, by the timestamp of its producer',
  'src/transport/engine/usual-requests.js': 'header Date of an answer',
  'src/watch/inspect/collector.js': 'time of an event, which other machines show',
  'src/people/auth/authenticator.js': '`exp` and `nbf` of tokens',
  'src/people/auth/key-set.js': 'end of the tokens of a key that was withdrawn, beside their `exp`',
  'src/log/bus/orders.js': 'ends of revokes, beside those that Redis has set',
  'src/log/bus/redis-publish.js': 'ingest time of a record',
  'src/documents/access.js': 'end of a revoke, which Redis has set',
  'src/operate/cli/check/files.js': 'days until a certificate expires',
  'src/operate/cli/tail.js': 'time of a message that has none',
  'packages/demo/control/pulse.js': 'time of a record, which the page compares with its hops',
  'src/gateway/expiry.js': '`exp` of tokens',
  'src/gateway/handlers/send.js': 'timestamp of a record',
  'src/gateway/handlers/signal.js': 'timestamp of a record',
  'src/transport/peers/peer-listener.js': 'time in the proof of another machine',
  'src/documents/receipts/orphans.js': 'timestamp of a record',
  'src/transport/peers/session-listener.js': 'time in the proof of another worker',
  'src/documents/receipts/reports.js': 'timestamp of a record',
  'src/gateway/arrivals.js': 'latencies from timestamps of other machines',
  'src/documents/receipts/sample.js': 'latencies from timestamps of other machines',
  'src/gateway/server.js': 'when something was heard from a client last',
  'src/transport/peers/owner-client.js': 'time in the proof for another machine',
  'src/gateway/rehearsal/warm-up.js': '`exp` of a token',
  'src/gateway/extensions/context.js': 'the time of publications',
  'src/services/webhook/answers.js': 'timestamp of a publication',
  'src/services/webhook/request.js': 'time in the signature',
  'src/services/connect/connect.js': 'the end of an identity, which the application has set',
  'src/redis/store/store.js': 'TIME, and the times at which keys expire',
  'src/config/tls/certificate.js': 'end of a certificate, and of an OCSP response',
  'src/config/tls/ticket-keys.js': 'periods that begin at the same time on all machines',
  'src/log/publish/publisher.js': 'latencies from timestamps of other machines',
  'src/ingest/partition-reports.js': 'latencies from timestamps of other machines',
  'src/ingest/marks.js': 'age of a record by its timestamp',
  'src/people/sessions/cleaning.js': 'time of a life-cycle event',
  'src/people/sessions/registry.js': 'times of life-cycle events and of signs of life',
  'src/wire/session-id.js': 'time in a session id'
}
// kafkajs stamps with Date.now, and this compares with its stamps
const KAFKAJS_CLOCK = ['src/kafka/kafkajs/request-queue-patch.js']

const ENVIRONMENT = { object: 'process', property: 'env', message: 'the environment is read in config/load.js only' }
// valibot's own types write the value into messages: only what combines or checks the types of
// src/base/common/schema.js
const SCHEMAS = {
  object: 'v',
  allowProperties: [
    'optional', 'nullable', 'nullish', 'union', 'pipe', 'transform', 'metadata', 'getMetadata', 'check', 'checkItems', 'regex',
    'nonEmpty', 'minValue', 'maxValue', 'minCodePoints', 'maxCodePoints', 'maxLength'
  ],
  message: 'src/base/common/schema.js has the types of values'
}

const durations = 'durations are measured with clock.monotonic() of src/base/common/clock.js'
const CLOCKS = [
  { selector: 'MemberExpression[object.name="Date"][property.name="now"]', message: durations },
  { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: durations },
  { selector: 'CallExpression[callee.name="Date"]', message: durations },
  { selector: 'MemberExpression[object.name="process"][property.name=/^(hrtime|uptime)$/]', message: durations },
  { selector: 'MemberExpression[object.name="performance"]', message: durations },
  {
    selector: 'MemberExpression[object.name="process"][property.name=/^(thread|process)?[cC]puUsage$|^resourceUsage$/]',
    message: 'CPU time is measured with clock.cpu() of src/base/common/clock.js'
  }
]
const WALL = {
  selector:
    'MemberExpression[property.name="now"]:matches([object.name=/[cC]lock$/], [object.property.name=/[cC]lock$/])',
  message: `${durations}; a file that needs the time of day says why in eslint.config.js`
}

const FORGOTTEN = {
  selector: 'CallExpression[callee.object.name="AbortSignal"][callee.property.name="any"] CallExpression[callee.property.name="timeout"]',
  message: 'on Node 20 a garbage collection removes this timeout: use withTimeLimit of src/base/common/wait.js, or a timer that aborts'
}

/** The clock of a process belongs to all test files in it, and to the inkcasts that they have started. */
const SET_CLOCK = [
  'CallExpression[callee.property.name="method"][arguments.0.name="systemClock"]',
  'AssignmentExpression > MemberExpression.left[object.name="systemClock"]'
].map((selector) => ({
  selector,
  message: 'servers of other tests would lose their leases: give what you test a clock (test/helpers/held-time.js)'
}))

/** More than eight properties of one destructured parameter: a constructor or function that knows too many parts. */
const PARAMETERS = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].map((kind) => ({
  selector: `${kind} > ObjectPattern.params[properties.length>8]`,
  message: 'at most eight parameters: take (services, parts), or a group that is a concept of its own'
}))

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'].map((name) => ({
  name, message: 'timers are those of a clock (src/base/common/clock.js, client/common/clock.js)'
}))
const RANDOM = {
  paths: ['timers', 'timers/promises', 'perf_hooks'].flatMap((name) => [name, `node:${name}`]).map((name) => ({
    name, allowImportNames: ['createHistogram'], message: 'time and timers are those of a clock (src/base/common/clock.js)'
  })),
  patterns: [{
    regex: '^(node:)?crypto$',
    importNamePattern: '^(default|getRandomValues|random|webcrypto)',
    message: 'random values are those of src/base/common/random.js'
  }]
}
const HANDED_DOWN = {
  ...RANDOM,
  patterns: [...RANDOM.patterns, {
    regex: '/common/(clock|random)\\.js$',
    importNamePattern: '^system',
    message: 'time and random values are handed down, so that a simulation decides them'
  }]
}
/** Time and random values of the system begin here: the entry of each process. */
const ENTRIES = ['src/operate/roles/role.js', 'src/operate/cli/**']
/** kafkajs has one table of codecs for the process. A simulation has other brokers than kafkajs. */
const KAFKAJS_CODECS = ['src/kafka/codecs/zstd.js', 'src/kafka/kafkajs/fetch-patch.js']
const RANDOM_NUMBER = {
  object: 'Math', property: 'random', message: 'random numbers are those of src/base/common/random.js, client/common/random.js'
}
const GLOBAL_CRYPTO = {
  name: 'crypto', message: 'random values are those of src/base/common/random.js, client/common/random.js'
}
const RAW_TIMEOUT = {
  object: 'AbortSignal', property: 'timeout', message: 'a raw timer: use withTimeLimit of src/base/common/wait.js'
}
const RAW_ANY = {
  object: 'AbortSignal', property: 'any', message: 'on Node 20 it leaves memory at its signals: use abortedWith of src/base/common/wait.js'
}
/** Pages have time and random values of the browser. */
const PAGES = ['packages/demo/page/**', 'src/operate/admin/page/**']
/** The demo without its guests, which like the clients of `inkcast load` are programs of their own. */
const DEMO = 'packages/demo/{*.js,control/**,documents/**}'
const OWN_SOURCES = [
  'src/base/common/clock.js', 'src/base/common/random.js', 'client/common/clock.js', 'client/common/interval.js',
  'client/common/random.js', ...PAGES
]
// Timers that a library has set, or stops.
const LIBRARY_TIMERS = ['src/transport/engine/engine-io-socket.js', 'src/kafka/kafkajs/request-queue-patch.js']

export default [
  { ignores: ['node_modules/', 'test/output/', '**/dist/', '**/.next/', 'docs/.vitepress/cache/'] },
  js.configs.recommended,
  stylistic.configs.customize({
    indent: 2,
    quotes: 'single',
    semi: false,
    braceStyle: '1tbs',
    commaDangle: 'never',
    arrowParens: true
  }),
  {
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: globals.node },
    rules: {
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      'no-var': 'error',
      'prefer-const': 'error',
      eqeqeq: ['error', 'smart'],
      'no-empty': ['error', { allowEmptyCatch: true }],
      'no-restricted-properties': ['error', ENVIRONMENT, SCHEMAS],
      'no-restricted-syntax': ['error', FORGOTTEN, ...PARAMETERS],
      'max-lines': ['error', { max: 400, skipComments: true, skipBlankLines: true }],
      '@stylistic/max-len': [
        'error',
        { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreUrls: true, ignoreRegExpLiterals: true }
      ],
      // texts too; the rule above is for code
      'max-len': ['error', { code: 140, ignoreUrls: true, ignoreRegExpLiterals: true }],
      '@stylistic/space-before-function-paren': ['error', 'always'],
      '@stylistic/max-statements-per-line': 'off',
      '@stylistic/multiline-ternary': 'off',
      '@stylistic/operator-linebreak': 'off',
      // its fix removes type casts
      '@stylistic/array-bracket-spacing': 'off',
      '@stylistic/quote-props': 'off',
      '@stylistic/rest-spread-spacing': 'off'
    }
  },
  {
    files: ['src/**', 'client/**', 'packages/**'],
    rules: { 'max-lines-per-function': ['error', { max: 100, skipBlankLines: false, skipComments: false, IIFEs: true }] }
  },
  {
    files: ['test/**', 'scripts/**', 'bench/**'],
    rules: { 'no-restricted-syntax': ['error', FORGOTTEN, ...SET_CLOCK] }
  },
  {
    files: [
      'cluster.js',
      'test/**',
      'scripts/**',
      'bench/**',
      'examples/**',
      'packages/yjs-server/{command,yjs}.js',
      '*.config.js'
    ],
    rules: { 'no-restricted-properties': 'off' }
  },
  {
    files: ['src/**', 'client/**', DEMO],
    ignores: OWN_SOURCES,
    rules: { 'no-restricted-properties': ['error', ENVIRONMENT, SCHEMAS, RANDOM_NUMBER, RAW_TIMEOUT, RAW_ANY] }
  },
  {
    files: ['src/config/load.js', 'src/operate/launcher/**'],
    rules: { 'no-restricted-properties': ['error', RANDOM_NUMBER, RAW_TIMEOUT, RAW_ANY] }
  },
  { files: ['src/base/common/schema.js'], rules: { 'no-restricted-properties': ['error', ENVIRONMENT, RANDOM_NUMBER] } },
  {
    files: ['src/**', 'client/**', DEMO],
    ignores: [...Object.keys(MODULE_STATE), ...PAGES],
    plugins: { inkcast: { rules: { 'module-state': moduleState } } },
    rules: { 'inkcast/module-state': 'error' }
  },
  {
    files: ['src/**', DEMO],
    ignores: ['src/base/common/clock.js', ...PAGES, ...KAFKAJS_CLOCK],
    rules: { 'no-restricted-syntax': ['error', FORGOTTEN, ...PARAMETERS, ...CLOCKS, WALL] }
  },
  {
    files: ['src/**', 'client/**', DEMO],
    ignores: [...OWN_SOURCES, ...LIBRARY_TIMERS],
    rules: { 'no-restricted-globals': ['error', ...TIMERS, GLOBAL_CRYPTO], 'no-restricted-imports': ['error', HANDED_DOWN] }
  },
  { files: [...ENTRIES, ...KAFKAJS_CODECS], rules: { 'no-restricted-imports': ['error', RANDOM] } },
  { files: Object.keys(WALL_CLOCK), rules: { 'no-restricted-syntax': ['error', FORGOTTEN, ...PARAMETERS, ...CLOCKS] } },
  {
    files: ['client/**', 'packages/{react,svelte,vue,yjs}/**'],
    ignores: ['client/common/clock.js'],
    rules: { 'no-restricted-syntax': ['error', FORGOTTEN, ...PARAMETERS, ...CLOCKS] }
  },
  {
    files: [
      ...PAGES, 'client/**', 'packages/{react,svelte,vue,yjs}/**', 'examples/yjs/page/**', 'examples/tiptap/**', 'examples/devices/**',
      'docs/.vitepress/theme/**',
      'test/simulation/diagram/browser.js'
    ],
    languageOptions: { globals: globals.browser }
  },
  { files: ['**/*.cjs'], languageOptions: { sourceType: 'commonjs', globals: globals.node } }
]
