import { Value } from './value.js'

/** Estimate of what a field costs beside its bytes. */
const FIELD_BYTES = 80

export class Hash extends Value {
  /** @type {Map<string, string>} */
  fields = new Map()

  get type () { return 'hash' }
  get size () { return this.fields.size }
  get content () { return this.fields }

  /** @param {Map<string, string>} fields */
  fill (fields) {
    for (const [field, value] of fields) this.set(field, value)
  }

  /** @param {string} field @param {string} value @returns {boolean} the field is new */
  set (field, value) {
    const before = this.fields.get(field)
    this.fields.set(field, value)
    this.grow(before === undefined ? FIELD_BYTES + field.length + value.length : value.length - before.length)
    return before === undefined
  }

  /** @param {string} field @returns {boolean} it was there */
  delete (field) {
    const value = this.fields.get(field)
    if (value === undefined) return false
    this.fields.delete(field)
    this.grow(-FIELD_BYTES - field.length - value.length)
    return true
  }
}
