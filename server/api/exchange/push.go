package exchange

import (
	"net/http"
	"time"
)

// WriteWithin is how long a client may take to read a piece of a stream.
const WriteWithin = 10 * time.Second

// Push sends a piece of a stream that may be quiet for long. It returns false if the client has
// left, or does not read the piece within WriteWithin. Afterwards the connection has no deadline
// for writing: that of HTTP/2 would end a quiet stream.
func Push(w http.ResponseWriter, piece []byte) bool {
	control := http.NewResponseController(w)
	// Errors of deadlines are those of writers that are not connections.
	_ = control.SetWriteDeadline(time.Now().Add(WriteWithin))
	if _, err := w.Write(piece); err != nil || control.Flush() != nil {
		return false
	}
	_ = control.SetWriteDeadline(time.Time{})
	return true
}
