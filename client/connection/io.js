// The only import of a library, in a separate file, so that a server can replace it for pages without a bundler.
export { io } from 'socket.io-client'
