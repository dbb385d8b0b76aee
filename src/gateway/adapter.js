import { createShardedAdapter } from '@socket.io/redis-adapter'

/**
 * The adapter that shares Socket.IO's rooms over all processes, for extensions that use `io.to('doc:<guid>')`.
 * Document deliveries do not take this way. `static` subscribes each worker to two channels instead of one per
 * room: a channel per room would cost every join a subscription that documents do not need
 * (docs/decisions/0002-static-room-channels.md).
 *
 * @param {{ publisher: any, subscriber: any }} redis clients, the second able to subscribe
 */
export const createRoomAdapter = ({ publisher, subscriber }) =>
  createShardedAdapter(publisher, subscriber, { channelPrefix: 'inkcast:rooms', subscriptionMode: 'static' })
