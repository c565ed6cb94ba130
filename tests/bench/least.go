package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/decision"
)

// serveLeast serves what no cached answer at the access point can be without, and nothing else:
// deadlines for slow clients, a body that is bounded, checked and parsed, a key of the whole
// request, a look-up, and the headers of an answer. It has no policies, no metrics, no log, no
// credentials and no preconditions.
func serveLeast(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	l := &least{kept: make(map[string][]byte)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("POST /", l)
	server := http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	return server.Serve(limits.Listener(listener, 4096, func() {}))
}

// least answers requests at the access point.
type least struct {
	mu   sync.Mutex // held to read and write kept
	kept map[string][]byte
}

// leastRoom is the memory of a request.
type leastRoom struct {
	body, key []byte
	document  decision.Document
	request   decision.Request
}

var leastRooms = sync.Pool{New: func() any { return &leastRoom{body: make([]byte, 4<<10)} }}

// The headers of answers.
var (
	leastJSON     = []string{"application/json"}
	leastSniff    = []string{"nosniff"}
	leastStore    = []string{"no-store"}
	leastContent  = []string{"default-src 'none'; frame-ancestors 'none'"}
	leastRevision = []string{"f1b6cbf0b8a14d0d9cf8b8a4f2d7c7a1"}
)

// ServeHTTP implements http.Handler.
func (l *least) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	room := leastRooms.Get().(*leastRoom)
	defer leastRooms.Put(room)
	n, err := io.ReadFull(r.Body, room.body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	body, _, err := decision.ParseInto(&room.document, string(room.body[:n]), 20_000)
	if err == nil {
		err = room.request.Read(body)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := l.find(room)
	header := w.Header()
	header["Content-Type"], header["X-Content-Type-Options"], header["Cache-Control"] = leastJSON, leastSniff, leastStore
	header["Content-Security-Policy"], header["Writ-Revision"] = leastContent, leastRevision
	_, _ = w.Write(answer)
}

// find returns the answer that is kept, and keeps one if none is.
func (l *least) find(room *leastRoom) []byte {
	q := &room.request
	slices.Sort(q.Groups)
	room.key = room.key[:0]
	for _, text := range append(q.Groups, q.User, q.Verb, q.APIGroup, q.Resource, q.Subresource, q.Namespace, q.Name) {
		room.key = append(binary.AppendUvarint(room.key, uint64(len(text))), text...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := l.kept[string(room.key)]
	if answer == nil {
		answer = plainAnswer
		l.kept[string(room.key)] = answer
	}
	return answer
}
