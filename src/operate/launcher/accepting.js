/**
 * Decides which gateway workers accept connections, and tells them.
 *
 * During a reload only the newest worker accepts connections, so that a client moves once, and as many to each worker
 * as its predecessor had. A worker whose clients are being moved accepts none if there is another one.
 *
 * The others pause only when one that has been chosen listens: otherwise, where workers share a port without sockets
 * that the launcher keeps, clients would be refused until a worker that has just resumed listens again.
 *
 * @typedef {Pick<import('./child.js').Child, 'accepting' | 'listens' | 'moves' | 'accept'>} Worker
 *
 * @param {Worker[]} serving workers that can accept
 * @param {Worker} [newest] during a reload: the worker that was started last
 */
export function chooseAccepting (serving, newest) {
  const staying = serving.filter(({ moves }) => moves === 0)
  const others = staying.length > 0 ? staying : serving
  const chosen = newest !== undefined && serving.includes(newest) ? [newest] : others
  for (const worker of chosen) worker.accept(true)
  if (!chosen.some(({ listens }) => listens)) return
  for (const worker of serving) if (!chosen.includes(worker)) worker.accept(false)
}
