package limits

import "net"

// Listener returns a listener that holds at most most connections open. Further ones
// are closed as soon as they are accepted, and refused is called for each of them. A
// client that is refused fails at once, where one that waits in the kernel's queue would
// hang. Deadlines of the connections may be a tenth of a second late.
func Listener(listener net.Listener, most int, refused func()) net.Listener {
	return &bounded{Listener: listener, places: NewBudget(int64(most)), refused: refused, deadlines: newDeadlines()}
}

type bounded struct {
	net.Listener
	places  *Budget
	refused func()

	deadlines *deadlines
}

// Close closes the listener, and not its connections, whose deadlines still hold.
func (l *bounded) Close() error {
	l.deadlines.close()
	return l.Listener.Close()
}

func (l *bounded) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.places.Acquire(1) {
			return l.deadlines.add(connection, l.places), nil
		}
		l.refused()
		_ = connection.Close() // nothing was sent
	}
}
