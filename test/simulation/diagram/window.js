/**
 * Parts of a story.
 *
 * @typedef {import('../world/trace.js').Story} Story
 * @typedef {import('../world/trace.js').StoryEvent} StoryEvent
 *
 * @typedef {object} Window
 * @property {number} from ms
 * @property {number} until ms
 */

/** Messages before the violation in the first window. */
const MESSAGES = 40
/** Bounds of the first window, ms. */
const [SHORTEST, LONGEST] = [10, 3000]

/** @param {Story} story @returns {Window} the whole one */
export function wholeOf ({ events }) {
  const last = events.at(-1)?.at ?? 0
  return { from: events[0]?.at ?? 0, until: Math.max(last, (events[0]?.at ?? 0) + 1) }
}

/**
 * @param {Story} story
 * @returns {Window} what is shown first: the time before the violation, or the beginning of the faults
 */
export function firstWindow (story) {
  const { events } = story
  const whole = wholeOf(story)
  const end = (events.find(({ type }) => type === 'violation') ?? events.find(({ type }) => type === 'fault'))?.at
  if (end === undefined) return { from: whole.from, until: Math.min(whole.until, whole.from + LONGEST) }
  const before = events.filter(({ type, at }) => type === 'message' && at <= end).at(-MESSAGES)?.at ?? whole.from
  const length = Math.min(LONGEST, Math.max(SHORTEST, end - before))
  return { from: end - length, until: end + 0.25 * length }
}

/**
 * @param {Story} story
 * @param {number} most events that are kept, two thirds of them before the violation
 * @returns {Story}
 */
export function around (story, most) {
  const { events, processes, dropped } = story
  if (events.length <= most) return story
  const violation = events.findIndex(({ type }) => type === 'violation')
  const middle = violation === -1 ? events.length : violation
  const begin = Math.max(0, Math.min(middle - Math.floor(most * 2 / 3), events.length - most))
  return { processes, events: events.slice(begin, begin + most), dropped: dropped + events.length - most }
}

/** @param {StoryEvent} event @param {Window} window */
export const isWithin = (event, { from, until }) =>
  event.at <= until && (event.type === 'message' ? event.until ?? event.at : event.at) >= from
