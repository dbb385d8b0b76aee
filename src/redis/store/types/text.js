import { Value } from './value.js'

export class Text extends Value {
  text = ''

  get type () { return 'string' }
  // an empty string stays
  get size () { return 1 }
  get content () { return this.text }

  /** @param {string} text */
  fill (text) {
    this.grow(text.length - this.text.length)
    this.text = text
    return this
  }
}
