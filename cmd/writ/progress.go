package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// How often progress is told: in place on a terminal, rarely in a log, and not
// at all before a run has become a long one.
const (
	progressAfter = 2 * time.Second
	progressLive  = 200 * time.Millisecond
	progressLog   = 30 * time.Second
)

// progress counts things done and tells a person now and then.
type progress struct {
	done atomic.Int64
	stop chan struct{}
	idle chan struct{}
}

// startProgress begins to tell on w how many things, in the plural, are done.
// On a terminal it rewrites one line, which stop removes.
func startProgress(w io.Writer, things string) *progress {
	p := &progress{stop: make(chan struct{}), idle: make(chan struct{})}
	live := isTerminal(w)
	every := progressLog
	if live {
		every = progressLive
	}
	go func() {
		defer close(p.idle)
		timer := time.NewTimer(max(progressAfter, every))
		defer timer.Stop()
		shown := false
		for {
			select {
			case <-p.stop:
				if shown && live {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-timer.C:
				shown = true
				timer.Reset(every)
				if live {
					fmt.Fprintf(w, "\r\x1b[K%d %s", p.done.Load(), things)
				} else {
					fmt.Fprintf(w, "writ: %d %s\n", p.done.Load(), things)
				}
			}
		}
	}()
	return p
}

func (p *progress) add(n int) { p.done.Add(int64(n)) }

// end stops telling; nothing is written after it returns.
func (p *progress) end() {
	close(p.stop)
	<-p.idle
}
