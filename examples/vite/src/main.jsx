import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { List } from './list.jsx'

createRoot(document.getElementById('root')).render(<StrictMode><List guid='list' /></StrictMode>)
