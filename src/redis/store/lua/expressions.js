/** @typedef {import('./parse.js').Node} Node */
/** @typedef {{ code: string, level: number }} Local name in JavaScript, and depth of the function that has it */
/**
 * @typedef {object} Known
 * @property {Map<string, unknown>} globals with the members of libraries by their path
 * @property {Set<string>} many paths of functions that do not return exactly one value
 * @property {string[]} helpers functions for generated code
 * @property {(path: string, args: (string | undefined)[]) => string | undefined} unknown what is not known in the
 *   arguments of a function, as far as these are constants
 */

/** Globals of Redis that no script of inkcast uses: refused when a script is loaded. */
const REFUSED = new Set([
  'assert', 'bit', 'cmsgpack', 'collectgarbage', 'coroutine', 'error', 'gcinfo', 'getmetatable', 'load', 'loadstring', 'os',
  'pcall', 'rawequal', 'rawget', 'rawset', 'select', 'setmetatable', 'struct', 'tostring', 'xpcall', '_G', '_VERSION'
])

/** @type {Record<string, string>} */
const ARITHMETIC = {
  '+': 'add', '-': 'subtract', '*': 'multiply', '/': 'divide', '..': 'concat'
}
/** @type {Record<string, string>} */
const COMPARISONS = { '<': 'less', '<=': 'atMost', '>': 'greater', '>=': 'atLeast' }

/** @param {Node} field of a table */
const isItem = ({ type }) => type === 'TableValue'

/** A construct that is refused. */
export class Refusal extends Error {
  /** @param {Node} node @param {string} what */
  constructor (node, what) {
    super(`the built-in store does not know ${what}`)
    this.line = node.loc.start.line
  }
}

/**
 * Writes JavaScript for expressions, in the order and in the lines of their source: errors tell the line. Values of Lua
 * are those of values.js. A function returns one value, or an array of several or none; `t` holds a value for a moment.
 */
export class Expressions {
  code = ''
  line = 1
  names = 0
  /** @type {Map<string, Local>[]} */
  scopes = []
  /** Functions around. */
  depth = 0
  /** Names of constants by their path. @type {Map<string, string>} */
  constants = new Map()

  /** @param {Known} known @param {(node: Node, alone: boolean) => boolean} inParentheses */
  constructor (known, inParentheses) {
    this.known = known
    this.inParentheses = inParentheses
  }

  /** @param {string} code @param {number} [line] of the script */
  write (code, line = 0) {
    if (line > this.line) {
      this.code += '\n'.repeat(line - this.line)
      this.line = line
    }
    this.code += code
  }

  /** A name that nothing else has. @param {string} [name] */
  fresh (name = '') {
    return `$${name}_${++this.names}`
  }

  /** @param {string} name of Lua @param {string} code name in JavaScript */
  declare (name, code) {
    this.scopes[this.scopes.length - 1].set(name, { code, level: this.depth })
  }

  /** @param {string} name */
  find (name) {
    return this.scopes.findLast((scope) => scope.has(name))?.get(name)
  }

  /**
   * Whether an expression may have several values, or none.
   * @param {Node} node
   * @param {boolean} [alone] as the only argument of a call
   */
  isMany (node, alone = false) {
    if (node.type !== 'CallExpression') return false
    const path = this.path(node.base)
    return (path === undefined || this.known.many.has(path)) && !this.inParentheses(node, alone)
  }

  /** Values of a list: its last expression may have several. @param {Node[]} nodes @param {boolean} [ofCall] */
  list (nodes, ofCall = false) {
    nodes.forEach((node, i) => {
      if (i > 0) this.write(', ')
      if (i < nodes.length - 1 || !this.isMany(node, ofCall && nodes.length === 1)) return this.expression(node)
      this.write('...')
      this.all(node)
    })
  }

  /** All values of an expression that may have several, as an array. @param {Node} node */
  all (node) {
    this.write('all(')
    this.call(node)
    this.write(')')
  }

  /** The value that a function returns for one expression. @param {Node} node */
  raw (node) {
    if (!this.isMany(node)) this.expression(node)
    else this.call(node)
  }

  /** An expression with one value. @param {Node} node */
  expression (node) {
    const { line } = node.loc.start
    this.write('', line)
    switch (node.type) {
      case 'NilLiteral': return this.write('undefined')
      case 'BooleanLiteral': return this.write(String(node.value))
      case 'NumericLiteral': return this.write(String(node.value))
      case 'StringLiteral': return this.write(JSON.stringify(node.value))
      case 'Identifier': return this.identifier(node)
      case 'FunctionDeclaration': return this.function(node)
      case 'TableConstructorExpression': return this.table(node)
      case 'MemberExpression': case 'IndexExpression': return this.index(node)
      case 'CallExpression': {
        const path = this.path(node.base)
        if (path !== undefined && !this.known.many.has(path)) return this.call(node)
        this.write('first(')
        this.call(node)
        return this.write(')')
      }
      case 'LogicalExpression':
        this.write('((t = ', line)
        this.expression(node.left)
        this.write(node.operator === 'or' ? ') !== undefined && t !== false ? t : ' : ') === undefined || t === false ? t : ')
        this.expression(node.right)
        return this.write(')')
      case 'UnaryExpression': return this.unary(node)
      case 'BinaryExpression': return this.binary(node)
    }
    throw new Refusal(node, node.type)
  }

  /** @param {Node} node */
  unary ({ operator, argument, loc }) {
    if (operator === 'not') return this.condition('!(', argument, ')')
    this.write(operator === '#' ? 'length(' : 'negate(', loc.start.line)
    this.expression(argument)
    this.write(`${this.name(argument)})`)
  }

  /** @param {Node} node */
  binary ({ operator, left, right, loc }) {
    if (operator === '==' || operator === '~=') {
      this.write('(')
      this.expression(left)
      this.write(operator === '==' ? ' === ' : ' !== ')
      this.expression(right)
      return this.write(')')
    }
    const helper = ARITHMETIC[operator] ?? COMPARISONS[operator]
    if (helper === undefined) throw new Refusal({ loc }, operator)
    this.write(`${helper}(`, loc.start.line)
    this.expression(left)
    this.write(', ')
    this.expression(right)
    if (ARITHMETIC[operator] && (this.name(left) || this.name(right))) {
      this.write(`${this.name(left) || ', undefined'}${this.name(right)}`)
    }
    this.write(')')
  }

  /** An expression as a condition of JavaScript. @param {string} before @param {Node} node @param {string} after */
  condition (before, node, after) {
    this.write(before)
    if (node.type === 'LogicalExpression') {
      this.condition('(', node.left, node.operator === 'or' ? ' || ' : ' && ')
      this.condition('', node.right, ')')
    } else if ((node.type === 'BinaryExpression' && !ARITHMETIC[node.operator]) || node.operator === 'not' ||
      node.type === 'BooleanLiteral') {
      this.expression(node)
    } else {
      this.write('isTrue(')
      this.expression(node)
      this.write(')')
    }
    this.write(after)
  }

  /** @param {Node} node */
  identifier ({ name, loc }) {
    const local = this.find(name)
    if (local) this.write(local.code)
    else if (name === 'KEYS' || name === 'ARGV') this.write(name)
    else if (this.known.globals.has(name)) this.constant(name)
    else if (REFUSED.has(name)) throw new Refusal({ loc }, name)
    else this.write(`nonexistent(${JSON.stringify(name)})`, loc.start.line)
  }

  /** @param {string} path */
  constant (path) {
    const name = this.constants.get(path) ?? `$$${this.constants.size}`
    this.constants.set(path, name)
    this.write(name)
  }

  /** Path of a global function or of a member of a library, which no script can replace. @param {Node} node */
  path (node) {
    const { base } = node
    if (node.type === 'Identifier') return this.find(node.name) || !this.known.globals.has(node.name) ? undefined : node.name
    if (node.type !== 'MemberExpression' || base.type !== 'Identifier' || this.find(base.name)) return
    const path = `${base.name}.${node.identifier.name}`
    if (this.known.globals.has(path)) return path
    if (this.known.globals.has(base.name)) throw new Refusal(node, path)
  }

  /** @param {Node} node a member, or an index */
  key ({ type, identifier, index }) {
    if (type === 'MemberExpression') this.write(JSON.stringify(identifier.name))
    else this.expression(index)
  }

  /** @param {Node} node */
  index (node) {
    const path = this.path(node)
    if (path !== undefined) return this.constant(path)
    this.write('index(', node.loc.start.line)
    this.expression(node.base)
    this.write(', ')
    this.key(node)
    this.write(`${this.name(node.base)})`)
  }

  /** A call with all that it returns. @param {Node} node */
  call (node) {
    const { base } = node
    if (node.type !== 'CallExpression') throw new Refusal(node, node.type)
    if (base.indexer === ':') throw new Refusal(node, 'a method')
    const path = this.path(base)
    const unknown = path && this.known.unknown(path, node.arguments.map((/** @type {Node} */ { value }) => value))
    if (unknown) throw new Refusal(node, unknown)
    // the line of a call is that of its arguments' parenthesis
    if (path !== undefined) {
      this.write('', base.loc.end.line)
      this.constant(path)
      this.write('(')
    } else {
      this.write('callable(', base.loc.start.line)
      this.expression(base)
      this.write(`${this.name(base)})`)
      this.write('(', base.loc.end.line)
    }
    this.list(node.arguments, true)
    this.write(')')
  }

  /** @param {Node} node */
  table ({ fields, loc }) {
    if (fields.every(isItem)) {
      this.write('list([', loc.start.line)
      this.list(fields.map((/** @type {Node} */ { value }) => value))
      return this.write('])')
    }
    const last = fields[fields.length - 1]
    if (isItem(last) && this.isMany(last.value)) throw new Refusal({ loc }, 'several values behind a named one in a table')
    this.write('build([', loc.start.line)
    fields.forEach((/** @type {Node} */ { type, key, value }, /** @type {number} */ i) => {
      if (i > 0) this.write(', ')
      if (type === 'TableKey') throw new Refusal({ loc }, 'a key in brackets')
      this.write(type === 'TableValue' ? 'NONE, ' : `${JSON.stringify(key.name)}, `)
      this.expression(value)
    })
    this.write('])')
  }

  /**
   * The name that errors give an expression.
   * @param {Node} node
   * @returns {string} a string of JavaScript behind a comma; '' if it has no name
   */
  name (node) {
    const local = node.type === 'Identifier' ? this.find(node.name) : undefined
    let name
    if (local) name = `${local.level === this.depth ? 'local' : 'upvalue'} '${node.name}'`
    else if (node.type === 'Identifier') name = `global '${node.name}'`
    else if (node.type === 'MemberExpression') name = `field '${node.identifier.name}'`
    else if (node.type === 'IndexExpression') name = 'field ' +
      `'${node.index.type === 'StringLiteral' ? node.index.value.split('\0')[0] : '?'}'`
    return name === undefined ? '' : `, ${JSON.stringify(name)}`
  }

  /** @param {Node} node */
  function ({ parameters, body, loc }) {
    this.scopes.push(new Map())
    this.depth++
    const codes = parameters.map((/** @type {Node} */ { type, name }) => {
      if (type === 'VarargLiteral') throw new Refusal({ loc }, '...')
      const code = this.fresh(name)
      this.declare(name, code)
      return code
    })
    this.write(`function (${codes.join(', ')}) {let t; step(); `, loc.start.line)
    this.block(body)
    this.write('return NONE}')
    this.depth--
    this.scopes.pop()
  }

  /** Is that of the class for statements. @param {Node[]} _body */
  block (_body) {}
}
