// The only import of a library, in a file of its own: where there is no bundler, a server can put another one in its
// place.
export { io } from 'socket.io-client'
