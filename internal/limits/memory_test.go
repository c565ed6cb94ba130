package limits

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestBudget(t *testing.T) {
	b := NewBudget(10)
	if !b.Acquire(6) || !b.Acquire(4) {
		t.Fatal("the budget refused what fits")
	}
	if b.Acquire(1) {
		t.Error("the budget accepted what does not fit")
	}
	b.Release(4)
	if !b.Acquire(4) || b.Held() != 10 {
		t.Errorf("got %d held after a release, want 10", b.Held())
	}
	if unlimited := new(Budget); !unlimited.Acquire(1 << 60) {
		t.Error("the zero value refused")
	}
}

func TestReserve(t *testing.T) {
	b := NewReserved(100, 5)
	if !b.Acquire(70) || b.Acquire(6) {
		t.Error("a large claim must leave a quarter")
	}
	for range 2 {
		if !b.Acquire(5) {
			t.Error("a small claim must have the whole budget")
		}
	}
}

func TestListenerClosesConnectionsBeyondItsBound(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan struct{}, 8)
	l := Listener(inner, 1, func() { refused <- struct{}{} })
	defer l.Close()
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- connection
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	first := <-accepted
	second := dial()
	<-refused
	_ = second.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := second.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v from a connection beyond the bound, want %v", err, io.EOF)
	}
	_ = first.Close()
	_ = first.Close() // gives back one place, not two
	dial()
	<-accepted
	dial()
	<-refused
}
