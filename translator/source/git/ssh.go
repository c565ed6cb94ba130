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

const stallScheme = "writ-stall"

// registerStallDialer registers the dialer of stallProxyURL, once for the process.
var registerStallDialer = sync.OnceFunc(func() {
	proxy.RegisterDialerType(stallScheme, func(u *url.URL, _ proxy.Dialer) (proxy.Dialer, error) {
		stall, err := time.ParseDuration(u.Host)
		return stallDialer{stall}, err
	})
})

// stallProxyURL returns the URL of a proxy that only adds a timeout to each read. go-git's
// SSH transport accepts neither a connection nor a context and would wait forever for a
// server that accepts a connection and then sends nothing; a proxy is its only hook.
func stallProxyURL(stall time.Duration) string {
	registerStallDialer()
	return stallScheme + "://" + stall.String()
}

type stallDialer struct{ stall time.Duration }

// DialContext uses the proxy of the environment, as the transport does without stallDialer.
// It returns an error if the connection fails or takes longer than stall.
func (d stallDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.stall)
	defer cancel()
	connection, err := proxy.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &stallConn{connection, d.stall}, nil
}

func (d stallDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// stallConn returns errStalled from a read that takes longer than stall.
type stallConn struct {
	net.Conn
	stall time.Duration
}

func (c *stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errStalled
	}
	return n, err
}
