/**
 * State of a module is state of the process: two clusters in one process would share it, and what one did would show
 * in the other. A class or a factory holds state. These modules keep some that nothing can see from outside.
 */
export const MODULE_STATE = {
  ...filesOf('a cache: the same answers without it', [
    'src/transport/engine/request.js', 'src/people/presence/answer-bytes.js', 'src/redis/empty-epoch.js',
    'src/redis/store/lua/compile.js', 'src/redis/store/lua/strings.js'
  ]),
  ...filesOf('filled while the module is loaded', [
    'src/operate/admin/figures/reading.js', 'src/kafka/kafkajs/codecs.js'
  ]),
  ...filesOf('an object that never changes', [
    'src/services/api/callers/rights.js', 'src/base/common/random.js', 'src/transport/socketio/codec.js', 'src/redis/store/resp/replies.js',
    'src/wire/msgpack-extensions.js'
  ]),
  ...filesOf(
    'in use within one synchronous call',
    ['src/transport/socketio/msgpack-packet.js', 'src/redis/store/lua/values.js', 'src/wire/msgpack.js']
  ),
  ...filesOf('fields of other objects, which each belong to one part', [
    'client/devtools/index.js', 'src/gateway/extensions/guard.js', 'src/gateway/document-rate.js',
    'src/gateway/handlers/join.js', 'src/gateway/handlers/queued-edits.js', 'src/gateway/handlers/refresh.js',
    'src/gateway/mqtt/subscribe.js', 'src/gateway/queued-packets.js', 'src/kafka/topic-safety.js',
    'src/wire/raw-value.js'
  ]),
  ...filesOf('prototypes of libraries that are patched, once', [
    'src/gateway/extensions/registration.js', 'src/kafka/kafkajs/fetch-patch.js', 'src/kafka/kafkajs/produce-patch.js',
    'src/transport/socketio/shared-listeners.js'
  ]),
  'client/common/known-options.js': 'warnings that were given, once per page',
  'src/transport/mqtt/packets.js': 'a setting of its library, given once',
  'src/kafka/codecs/zstd.js': 'threads, which kafkajs asks by a table of the process; only Node before 22.15 has them',
  'src/documents/receipts/receipt.js': 'numbers of receivers, of which only the order counts'
}

/** @param {string} reason @param {string[]} files */
function filesOf (reason, files) { return Object.fromEntries(files.map((file) => [file, reason])) }

const CHANGES = new Set([
  'set', 'add', 'delete', 'clear', 'push', 'pop', 'shift', 'unshift', 'splice', 'sort', 'reverse', 'fill', 'copy', 'write'
])
/** Classes whose objects do not change unless one of these methods is called. */
const PLAIN = new Set(['Map', 'Set', 'RegExp', 'URL', 'TextEncoder', 'TextDecoder'])

/** @param {any} value an expression @returns {boolean} whether it makes an object that may keep something */
function isStateful (value) {
  switch (value?.type) {
    case 'NewExpression': {
      const { name } = value.callee
      return !PLAIN.has(name) || (/^(Map|Set)$/.test(name) && value.arguments.length === 0)
    }
    case 'CallExpression':
      return /^create(?!Require$)[A-Z]/.test(value.callee.name) ||
        (value.callee.object?.name === 'Object' && value.arguments.some(isStateful))
    case 'ObjectExpression': return value.properties.some((/** @type {any} */ { value }) => isStateful(value))
    case 'ArrayExpression': return value.elements.some(isStateful)
    default: return false
  }
}

/** @param {any} identifier one use of a variable @returns {boolean} whether it changes what the variable holds */
function changes ({ parent, ...identifier }) {
  if (parent.type !== 'MemberExpression' || parent.object.range[0] !== identifier.range[0]) return false
  const { parent: user } = parent
  // a sticky expression is used within one call
  if (parent.property.name === 'lastIndex') return false
  return (user.type === 'AssignmentExpression' && user.left === parent) || user.type === 'UpdateExpression' ||
    (user.type === 'UnaryExpression' && user.operator === 'delete') ||
    (user.type === 'CallExpression' && user.callee === parent && CHANGES.has(parent.property.name))
}

/** A rule of ESLint: variables, objects and static fields in which a module keeps something. */
export const moduleState = {
  create (/** @type {any} */ context) {
    const report = (/** @type {any} */ node) => context.report({
      node, message: 'a class or a factory holds state, or scripts/lint/module-state.js says why this module does'
    })
    return {
      Program (/** @type {any} */ node) {
        const [scope] = context.sourceCode.getScope(node).childScopes
        for (const { defs: [definition], references } of scope.variables) {
          const { type, node: declared, parent } = definition
          const isVariable = type === 'Variable' && declared.id.type === 'Identifier'
          if (
            (type === 'Variable' && parent.kind !== 'const') || (isVariable && isStateful(declared.init)) ||
            (type !== 'ImportBinding' && references.some((/** @type {any} */ use) => changes(use.identifier)))
          ) report(declared)
        }
      },
      'PropertyDefinition[static=true]': report
    }
  }
}
