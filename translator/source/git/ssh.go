package git

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/net/proxy"
)

// guardScheme is that of guardedDialing.
const guardScheme = "writ-guard"

// registerGuard makes guardedDialing known, once for the process.
var registerGuard = sync.OnceFunc(func() {
	proxy.RegisterDialerType(guardScheme, func(u *url.URL, _ proxy.Dialer) (proxy.Dialer, error) {
		stall, err := time.ParseDuration(u.Host)
		return guardedDialer{stall}, err
	})
})

// guardedDialing names a proxy that is none: connections end when they stand still.
// The SSH library takes no connection of ours, knows no context, and would wait for
// ever for a server that accepts and then says nothing.
func guardedDialing(stall time.Duration) string {
	registerGuard()
	return guardScheme + "://" + stall.String()
}

type guardedDialer struct{ stall time.Duration }

// DialContext honours the environment's proxies, as is done without a guard.
func (d guardedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.stall)
	defer cancel()
	connection, err := proxy.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &guardedConn{connection, d.stall}, nil
}

func (d guardedDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

type guardedConn struct {
	net.Conn
	stall time.Duration
}

func (c *guardedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errStalled
	}
	return n, err
}
