package console

import (
	"encoding/json"
	"time"
)

// LogQuery selects recorded decisions. Empty fields select all.
type LogQuery struct {
	Outcome   string // Allow, Deny, None or Failed
	User      string
	Resource  string
	Namespace string
	Point     string
	Endpoint  string
	// Limit is the most decisions; zero means 50. Before keeps decisions older than the
	// one with this ID; zero begins with the newest.
	Limit  int
	Before uint64
}

// Log is the recorded decisions of this process, newest first.
type Log struct {
	Decisions []Entry `json:"decisions"`
	// Dropped is how many decisions were not recorded, because too many were made at a
	// time.
	Dropped uint64 `json:"dropped"`
	// After is LogQuery.Before of the next page; zero on the last one.
	After uint64 `json:"after,omitempty"`
	// Size is how many decisions are recorded at most.
	Size int `json:"size"`
}

// Entry is a recorded decision.
type Entry struct {
	ID       uint64    `json:"id"`
	Time     time.Time `json:"time"`
	Point    string    `json:"point"`
	Endpoint string    `json:"endpoint"`
	// Request is the request without its pod, of which Decision has the score. WithoutPod states
	// that it had one.
	Request      json.RawMessage `json:"request"`
	WithoutPod   bool            `json:"withoutPod,omitempty"`
	Outcome      string          `json:"outcome"`
	Decision     json.RawMessage `json:"decision"`
	Microseconds float64         `json:"microseconds"`
	Cached       bool            `json:"cached"`
	Revision     string          `json:"revision"`
	// Now is the outcome of the same request by the active revision, if it is another;
	// empty otherwise.
	Now string `json:"now,omitempty"`
}
