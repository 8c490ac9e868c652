// libqrencode, which makes QR codes.
#include <qrencode.h>
