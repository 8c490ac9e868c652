package healthhub

/*
#cgo LDFLAGS: -lzmq
#include <stdlib.h>
#include <zmq.h>
*/
import "C"

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	subscriber = C.ZMQ_SUB
	dealer     = C.ZMQ_DEALER

	handshakeSucceeded = C.ZMQ_EVENT_HANDSHAKE_SUCCEEDED
	handshakeRefused   = C.ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
)

// proof has the values of the socket options that prove the program's identity.
type proof map[C.int]string

func proofByKey(server, public, secret string) proof {
	return proof{C.ZMQ_CURVE_SERVERKEY: server, C.ZMQ_CURVE_PUBLICKEY: public, C.ZMQ_CURVE_SECRETKEY: secret}
}

func proofByToken(instance, token string) proof {
	return proof{C.ZMQ_PLAIN_USERNAME: instance, C.ZMQ_PLAIN_PASSWORD: token}
}

// A socket is a socket of libzmq. Several threads may use it one after another, as goroutines do.
type socket struct{ pointer unsafe.Pointer }

// sockets has a context of libzmq, the sockets to the door and the monitor of its handshakes, and a pipe that wakes a call
// that waits for them.
type sockets struct {
	context          unsafe.Pointer
	door, handshakes *socket
	bells            map[*socket]bool
	wakeUp           [2]int
}

func zmqError(what string, err error) error {
	reason := err.Error()
	if number, isNumber := err.(syscall.Errno); isNumber {
		reason = C.GoString(C.zmq_strerror(C.int(number)))
	}
	return &Error{Code: "socket", Reason: what + ": " + reason}
}

func openSockets(address string, proof proof) (*sockets, error) {
	s := &sockets{context: C.zmq_ctx_new(), bells: map[*socket]bool{}, wakeUp: [2]int{-1, -1}}
	err := func() (err error) {
		if err = syscall.Pipe(s.wakeUp[:]); err != nil {
			return &Error{Code: "socket", Reason: "a pipe cannot be made: " + err.Error()}
		}
		for _, end := range s.wakeUp {
			syscall.CloseOnExec(end)
			if err = syscall.SetNonblock(end, true); err != nil {
				return &Error{Code: "socket", Reason: "a pipe cannot be made: " + err.Error()}
			}
		}
		if s.door, err = s.open(dealer, address, proof, nil); err == nil {
			s.handshakes, err = s.open(C.ZMQ_PAIR, "inproc://handshakes", nil, nil)
		}
		return err
	}()
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openBell returns a subscriber of the feed, until closeBell or close.
func (s *sockets) openBell(address string, proof proof, topics []string) (*socket, error) {
	bell, err := s.open(subscriber, address, proof, topics)
	if err == nil {
		s.bells[bell] = true
	}
	return bell, err
}

func (s *sockets) closeBell(bell *socket) {
	if s.bells[bell] {
		delete(s.bells, bell)
		C.zmq_close(bell.pointer)
	}
}

func (s *sockets) close() {
	if s.door != nil {
		C.zmq_socket_monitor(s.door.pointer, nil, 0) // before its reader is closed, for which libzmq would wait
		C.zmq_close(s.door.pointer)
	}
	if s.handshakes != nil {
		C.zmq_close(s.handshakes.pointer)
	}
	for bell := range s.bells {
		s.closeBell(bell)
	}
	for {
		if result, err := C.zmq_ctx_term(s.context); result == 0 || err != syscall.EINTR {
			break
		}
	}
	for _, end := range s.wakeUp {
		if end >= 0 {
			syscall.Close(end)
		}
	}
}

func (s *sockets) open(kind C.int, address string, proof proof, topics []string) (*socket, error) {
	pointer, err := C.zmq_socket(s.context, kind)
	if pointer == nil {
		return nil, zmqError(address, err)
	}
	one := &socket{pointer}
	err = func() error {
		numbers := map[C.int]C.int{C.ZMQ_LINGER: 0, C.ZMQ_RECONNECT_IVL: 50, C.ZMQ_RECONNECT_IVL_MAX: 1_000,
			C.ZMQ_SNDHWM: 10_000, C.ZMQ_RCVHWM: 10_000}
		if kind == dealer {
			// ZeroMQ must not queue messages for an absent hub: the next session repeats every open request.
			numbers[C.ZMQ_IMMEDIATE] = 1
		}
		for option, number := range numbers {
			if err := one.set(option, unsafe.Pointer(&number), C.sizeof_int); err != nil {
				return err
			}
		}
		for option, text := range proof {
			if err := one.setText(option, text); err != nil {
				return err
			}
		}
		for _, topic := range topics {
			if err := one.setText(C.ZMQ_SUBSCRIBE, topic); err != nil {
				return err
			}
		}
		if kind == dealer {
			// Without it a log-in that the hub refuses, such as with a key that was revoked, looks like a hub that is away.
			watched := C.CString("inproc://handshakes")
			defer C.free(unsafe.Pointer(watched))
			if result, err := C.zmq_socket_monitor(pointer, watched, handshakeSucceeded|handshakeRefused); result != 0 {
				return zmqError("the monitor of "+address, err)
			}
		}
		text := C.CString(address)
		defer C.free(unsafe.Pointer(text))
		if result, err := C.zmq_connect(pointer, text); result != 0 {
			return zmqError(address, err)
		}
		return nil
	}()
	if err != nil {
		C.zmq_close(pointer)
		return nil, err
	}
	return one, nil
}

func (s *socket) set(option C.int, value unsafe.Pointer, size C.size_t) error {
	if result, err := C.zmq_setsockopt(s.pointer, option, value, size); result != 0 {
		return zmqError(fmt.Sprintf("option %d", option), err)
	}
	return nil
}

func (s *socket) setText(option C.int, text string) error {
	bytes := C.CString(text)
	defer C.free(unsafe.Pointer(bytes))
	return s.set(option, unsafe.Pointer(bytes), C.size_t(len(text)))
}

// send returns whether there was a connection to send the message to.
func (s *socket) send(verb string, body []byte) bool {
	return s.sendFrame([]byte(verb), C.ZMQ_DONTWAIT|C.ZMQ_SNDMORE) && s.sendFrame(body, C.ZMQ_DONTWAIT)
}

func (s *socket) sendFrame(frame []byte, flags C.int) bool {
	for {
		size, err := C.zmq_send(s.pointer, unsafe.Pointer(&frame[0]), C.size_t(len(frame)), flags)
		if size >= 0 || err != syscall.EINTR {
			return size >= 0
		}
	}
}

// receive returns the frames of a message that is here, or nil.
func (s *socket) receive() (frames [][]byte) {
	var message C.zmq_msg_t
	for {
		C.zmq_msg_init(&message)
		size, err := C.zmq_msg_recv(&message, s.pointer, C.ZMQ_DONTWAIT)
		if size < 0 {
			C.zmq_msg_close(&message)
			if err == syscall.EINTR {
				continue
			}
			return nil
		}
		frames = append(frames, C.GoBytes(C.zmq_msg_data(&message), size))
		hasMore := C.zmq_msg_more(&message) == 1
		C.zmq_msg_close(&message)
		if !hasMore {
			return frames
		}
	}
}

// event returns the kind of event that a message of a monitor reports.
func event(frames [][]byte) uint16 {
	if len(frames[0]) < 2 {
		return 0
	}
	return *(*uint16)(unsafe.Pointer(&frames[0][0]))
}

// wait waits for a message, a wake-up, the end of stdin if hasInput, or the end of the time. It returns whether stdin still
// has to be watched.
func (s *sockets) wait(limit time.Duration, hasInput bool, bell *socket) bool {
	items := make([]C.zmq_pollitem_t, 0, 5)
	watch := func(pointer unsafe.Pointer, descriptor int) {
		var item C.zmq_pollitem_t
		item.socket, item.events = pointer, C.ZMQ_POLLIN
		if pointer == nil {
			item.fd = C.int(descriptor)
		}
		items = append(items, item)
	}
	watch(s.door.pointer, 0)
	watch(s.handshakes.pointer, 0)
	watch(nil, s.wakeUp[0])
	if bell != nil {
		watch(bell.pointer, 0)
	}
	if hasInput {
		watch(nil, 0)
	}
	milliseconds := C.long((limit + time.Millisecond - 1) / time.Millisecond)
	if C.zmq_poll(&items[0], C.int(len(items)), milliseconds) <= 0 {
		return hasInput // nothing came, or a signal did
	}
	var bytes [64]byte
	if items[2].revents != 0 {
		syscall.Read(s.wakeUp[0], bytes[:])
	}
	if hasInput && items[len(items)-1].revents != 0 {
		_, err := os.Stdin.Read(bytes[:])
		return err == nil
	}
	return hasInput
}

// wake ends a wait, also of another goroutine.
func (s *sockets) wake() {
	syscall.Write(s.wakeUp[1], []byte{0}) // if the pipe is full, a wake-up is under way
}
