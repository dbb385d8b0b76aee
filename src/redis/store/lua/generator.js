import { Expressions, Refusal } from './expressions.js'
import { parenthesesOf, parse } from './parse.js'

/** @typedef {import('./parse.js').Node} Node */

/** Writes JavaScript for a script. */
class Generator extends Expressions {
  /** @param {Node} tree @returns {string} */
  generate (tree) {
    this.code = 'return function main (KEYS, ARGV) {let t; '
    this.block(tree.body)
    const constants = [...this.constants].map(([path, name]) => `const ${name} = globals.get(${JSON.stringify(path)}); `)
    return `'use strict'; const {${this.known.helpers.join()}} = helpers; ${constants.join('')}${this.code}return NONE}`
  }

  /** @param {Node[]} body */
  block (body) {
    this.scopes.push(new Map())
    for (const statement of body) this.statement(statement)
    this.scopes.pop()
  }

  /** @param {Node} node */
  statement (node) {
    const { line } = node.loc.start
    this.write('', line)
    switch (node.type) {
      case 'LocalStatement': return this.local(node)
      case 'AssignmentStatement': return this.assignment(node)
      case 'CallStatement':
        this.call(node.expression)
        return this.write('; ')
      case 'ReturnStatement': return this.return(node.arguments, line)
      case 'BreakStatement': return this.write('break; ', line)
      case 'IfStatement': return node.clauses.forEach((/** @type {Node} */ clause, /** @type {number} */ i) => {
        if (i > 0) this.write('else ')
        if (clause.condition) this.condition('if (', clause.condition, ') ')
        this.write('{')
        this.block(clause.body)
        this.write('} ')
      })
      case 'WhileStatement':
        this.condition('while (', node.condition, ') {step(); ')
        this.block(node.body)
        return this.write('} ')
      case 'ForNumericStatement': return this.numericFor(node)
      case 'ForGenericStatement': return this.genericFor(node)
      case 'FunctionDeclaration': return this.functionStatement(node)
    }
    throw new Refusal(node, node.type)
  }

  /** @param {Node} node */
  local ({ variables, init }) {
    const names = variables.map((/** @type {Node} */ { name }) => this.fresh(name))
    this.assigned(names, init)
    // only now, because the values do not see the variables
    variables.forEach((/** @type {Node} */ { name }, /** @type {number} */ i) => this.declare(name, names[i]))
  }

  /** Declares names of JavaScript with the values of a list. @param {string[]} names @param {Node[]} values */
  assigned (names, values) {
    this.write('let ')
    const count = Math.max(names.length, values.length)
    let rest = ''
    for (let i = 0; i < count; i++) {
      if (i > 0) this.write(', ')
      if (i === values.length - 1 && names.length > values.length && this.isMany(values[i])) {
        rest = this.fresh()
        this.write(`${rest} = `)
        this.all(values[i])
        this.write(', ')
      }
      this.write(names[i] ?? this.fresh())
      if (rest) this.write(` = ${rest}[${i - values.length + 1}]`)
      else if (i < values.length) {
        this.write(' = ')
        this.expression(values[i])
      }
    }
    this.write('; ')
  }

  /** @param {Node} node */
  assignment ({ variables, init }) {
    if (variables.length === 1 && init.length === 1) return this.assign(variables[0], () => this.expression(init[0]))
    this.write('{')
    const places = variables.map((/** @type {Node} */ variable) => {
      if (variable.type === 'Identifier') return
      const [table, key] = [this.fresh(), this.fresh()]
      this.write(`const ${table} = `)
      this.expression(variable.base)
      this.write(`, ${key} = `)
      this.key(variable)
      this.write('; ')
      return [table, key]
    })
    const values = variables.map(() => this.fresh())
    this.assigned(values, init)
    // the last one first, as in Lua
    for (let i = variables.length - 1; i >= 0; i--) {
      if (!places[i]) this.assign(variables[i], () => this.write(values[i]))
      else this.write(`assign(${places[i].join()}, ${values[i]}${this.name(variables[i].base)}); `)
    }
    this.write('} ')
  }

  /** @param {Node} variable @param {() => void} writeValue */
  assign (variable, writeValue) {
    if (variable.type !== 'Identifier') {
      this.write('assign(', variable.loc.start.line)
      this.expression(variable.base)
      this.write(', ')
      this.key(variable)
      this.write(', ')
      writeValue()
      return this.write(`${this.name(variable.base)}); `)
    }
    const local = this.find(variable.name)
    this.write(local ? `${local.code} = ` : 'assignGlobal(', variable.loc.start.line)
    writeValue()
    this.write(local ? '; ' : '); ')
  }

  /** @param {Node[]} values @param {number} line */
  return (values, line) {
    this.write('return ', line)
    if (values.length === 0) return this.write('NONE; ')
    this.write(values.length === 1 ? '(' : '[')
    if (values.length === 1) this.raw(values[0])
    else this.list(values)
    this.write(values.length === 1 ? '); ' : ']; ')
  }

  /** @param {Node} node */
  numericFor ({ variable, start, end, step, body, loc }) {
    const [i, limit, by] = [this.fresh(), this.fresh(), this.fresh()]
    this.write(`for (let ${i} = loopNumber(`, loc.start.line)
    this.expression(start)
    this.write(`, 'initial value'), ${limit} = loopNumber(`)
    this.expression(end)
    this.write(`, 'limit'), ${by} = `)
    if (step) {
      this.write('loopNumber(')
      this.expression(step)
      this.write(', \'step\')')
    } else this.write('1')
    this.write(`; ${by} > 0 ? ${i} <= ${limit} : ${limit} <= ${i}; ${i} += ${by}) {step(); `)
    this.loopBody([variable], [i], body)
  }

  /** @param {Node} node */
  genericFor ({ variables, iterators, body, loc }) {
    const turn = this.fresh()
    this.write(`for (const ${turn} = each([`, loc.start.line)
    this.list(iterators)
    this.write(`]); ${turn}.more();) {step(); `)
    this.loopBody(variables, variables.map((/** @type {Node} */ _, /** @type {number} */ i) => `${turn}.values[${i}]`), body)
  }

  /** @param {Node[]} variables @param {string[]} values @param {Node[]} body */
  loopBody (variables, values, body) {
    this.scopes.push(new Map())
    variables.forEach(({ name }, i) => {
      const code = this.fresh(name)
      this.declare(name, code)
      this.write(`let ${code} = ${values[i]}; `)
    })
    this.block(body)
    this.scopes.pop()
    this.write('} ')
  }

  /** @param {Node} node */
  functionStatement (node) {
    const { identifier, isLocal } = node
    if (!isLocal) throw new Refusal(node, 'a function that is not local')
    const code = this.fresh(identifier.name)
    // the function sees itself
    this.declare(identifier.name, code)
    this.write(`let ${code} = `)
    this.function(node)
    this.write('; ')
  }
}

/**
 * JavaScript for a script: the body of a function with the parameters `helpers` and `globals`, which returns the main
 * function.
 *
 * @param {string} source
 * @param {import('./expressions.js').Known} known
 * @returns {string}
 * @throws {Error} with its line
 */
export const generate = (source, known) =>
  new Generator(known, parenthesesOf(source)).generate(parse(source))
