import { seededRandom } from '../helpers/random.js'

/**
 * Values at the edges of what scripts and commands parse; none of them makes a loop long. `nan` is not among them:
 * Redis prints its sign, which JavaScript does not have.
 */
export const HOSTILE = [
  '', ' ', 'x', '0', '-1', '-0', '1.5', '1e3', '0x10', ' 7', '7 ', '+5', '007', '9007199254740993', '9223372036854775807',
  '9223372036854775808',
  '99999999999999999999', '3.0e-5', 'inf', '-inf', '1 2', 'a|b|c', '%', '%d', '\0', 'a\0b\0c\0d', '\xff\xfe', '\xc3\xa9', '{', '{}', '[1',
  '(1', '[a', '(a', '-', '+', '$', '>',
  '0-0', '5-0', '5-*', '*', '1-2-3', '\r\n', 'x'.repeat(70), 'y'.repeat(300)
]

/** Random choices that repeat for the same seed. */
export class Draw {
  /** @param {number} seed */
  constructor (seed) {
    this.number = seededRandom(seed)
  }

  /** @param {number} least @param {number} most @returns {number} */
  int (least, most) {
    return least + Math.floor(this.number() * (most - least + 1))
  }

  /** @param {number} share @returns {boolean} */
  chance (share) {
    return this.number() < share
  }

  /** @template T @param {readonly T[]} list @returns {T} */
  pick (list) {
    return list[Math.floor(this.number() * list.length)]
  }

  /** @template T @param {number} least @param {number} most @param {() => T} make @returns {T[]} */
  list (least, most, make) {
    return Array.from({ length: this.int(least, most) }, make)
  }

  /** @returns {string} */
  hostile () {
    return this.pick(HOSTILE)
  }

  /** @param {number} share @param {() => string} make @returns {string} hostile at this share, else what is made */
  mostly (share, make) {
    return this.chance(share) ? this.hostile() : make()
  }
}
